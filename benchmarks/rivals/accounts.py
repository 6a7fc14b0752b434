"""How much noise suffices: exact for Gaussian noise, dp-accounting where rows are sampled.

What dp-accounting found is noted in noise_multipliers.json, so that the rivals of the studies run
where it is not installed. ``python benchmarks/noise_multipliers.py`` makes that file.
"""

import json
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

NOTED = Path(__file__).with_name("noise_multipliers.json")
STEP = 1.01  # noise multipliers stand on a geometric grid, so that sets can share the work


def gaussian_delta(epsilon: float, mu: float) -> float:
    """delta of Gaussian noise at epsilon, mu = sensitivity / standard deviation.

    Balle and Wang, "Improving the Gaussian mechanism", 2018. For negative epsilon as well.
    """
    below = math.exp(epsilon + log_ndtr(-epsilon / mu - mu / 2.0))
    return float(ndtr(-epsilon / mu + mu / 2.0) - below)


def gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest mu that is (epsilon, delta)-DP."""
    high = 1.0
    while gaussian_delta(epsilon, high) < delta:
        high *= 2.0
    return float(brentq(lambda mu: gaussian_delta(epsilon, mu) - delta, 1e-9, high, xtol=1e-12))


def least_on_grid(suffices: Callable[[float], bool], start: float) -> float:
    """The least power of `STEP` that suffices, by bisection from a guess."""
    low = high = round(math.log(start, STEP))
    while not suffices(STEP**high):
        low, high = high, high + 32
    while low == high or suffices(STEP**low):
        high, low = low, low - 32
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(STEP**middle) else (middle, high)
    return STEP**high


@cache
def _loss_of_sampled(sampling: float, steps: int, multiplier: float, interval: float) -> Any:
    from dp_accounting import dp_event
    from dp_accounting.pld import PLDAccountant

    step = dp_event.PoissonSampledDpEvent(sampling, dp_event.GaussianDpEvent(multiplier))
    return PLDAccountant(value_discretization_interval=interval).compose(step, steps)


@cache
def noise_multiplier(epsilon: float, delta: float, steps: int, sampling: float) -> float:
    """Standard deviation over clipping bound of ``steps`` noisy sums, (epsilon, delta)-DP in all.

    Every sum is over rows drawn one by one with probability ``sampling`` (Poisson); 1 for all rows.
    """
    everything = math.sqrt(steps) / gaussian_mu(epsilon, delta)
    if sampling >= 1.0:
        return everything
    noted = noted_multipliers().get(key(epsilon, delta, steps, sampling))
    if noted is not None:
        return noted
    return sampled_multiplier(epsilon, delta, steps, sampling)


def key(epsilon: float, delta: float, steps: int, sampling: float) -> str:
    """The name of a case in the file of multipliers."""
    return f"{epsilon:.6g} {delta:.6g} {steps} {sampling:.6g}"


@cache
def noted_multipliers() -> dict[str, float]:
    return json.loads(NOTED.read_text()) if NOTED.exists() else {}


def sampled_multiplier(epsilon: float, delta: float, steps: int, sampling: float) -> float:
    """`noise_multiplier` where rows are sampled, by dp-accounting."""
    # Losses of single steps are small where epsilon is: a coarser grid would ask for more noise.
    interval = min(1e-3, 5e-4 * epsilon)

    def suffices(multiplier: float) -> bool:
        loss = _loss_of_sampled(sampling, steps, multiplier, interval)
        return loss.get_delta(epsilon) <= delta

    everything = math.sqrt(steps) / gaussian_mu(epsilon, delta)
    return least_on_grid(suffices, max(everything * sampling, 0.5))
