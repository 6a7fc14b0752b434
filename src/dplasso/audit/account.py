"""The cost of releases, computed a second time by short, slow code that shares nothing with the
product.

The formulae are those of `dplasso.privacy.zcdp`, whose docstring says where they are proved. They
are evaluated in another way: by a search over orders instead of the root of a derivative.
"""

import math
from collections.abc import Iterator

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from dplasso.privacy.events import (
    BoundedRange,
    Composed,
    Event,
    Gaussian,
    PureDP,
    Repeated,
    ZeroConcentrated,
)

_LAST_TERM = 60.0  # terms summed, times the probability to stop: the rest is e^-60
_LOG_ORDERS = (-40.0, 40.0)  # range of log(a - 1), where a is the order of the divergence


def epsilon_at(rho: float, delta: float) -> float:
    """The least epsilon, over all orders a, for which rho-zCDP implies (epsilon, delta)-DP."""
    if rho <= 0.0 or math.isinf(rho):
        return max(rho, 0.0)

    def at(log_u: float) -> float:
        u = math.exp(log_u)
        rest = -math.log(delta) - math.log1p(u)
        return (1.0 + u) * rho + rest / u - math.log1p(1.0 / u)

    # There is one basin: a coarse grid finds it, and a fine search finds its minimum.
    low, high = _LOG_ORDERS
    places = [low + 0.05 * k for k in range(round((high - low) / 0.05) + 1)]
    best = min(places, key=at)
    found = minimize_scalar(
        at, bounds=(best - 0.1, best + 0.1), method="bounded", options={"xatol": 1e-10}
    )
    return max(0.0, min(float(found.fun), at(best)))


def rho_for(epsilon: float, delta: float) -> float:
    """The rho whose epsilon at ``delta`` is the given one."""

    def excess(log_rho: float) -> float:
        return epsilon_at(math.exp(log_rho), delta) - epsilon

    return math.exp(brentq(excess, -60.0, math.log(10.0 * epsilon + 10.0), xtol=1e-13))


def epsilon_of_search(rho: float, delta: float, stop: float, law: str) -> float:
    """The epsilon of the best of a random number of trials (`dplasso.privacy.trials` proves it).

    Their mean number is summed term by term, and the order of the extra cost is found by a search.
    """
    counts = np.arange(1, math.ceil(_LAST_TERM / stop) + 1)
    weights = (1.0 - stop) ** counts / (counts if law == "logarithmic" else 1.0)
    mean = float(np.sum(counts * weights) / np.sum(weights))
    orders = np.geomspace(1.0, 1e6, 200_001)
    extra = float(np.min((orders - 1.0) * rho - math.log(stop) / orders))
    return epsilon_at(rho, delta / mean) + extra * (1.0 if law == "logarithmic" else 2.0)


def parts_of_event(event: Event) -> Iterator[tuple[Event, int]]:
    """The single releases that an accountant was charged for, in order, with their counts."""
    match event:
        case Composed(events):
            for part in events:
                yield from parts_of_event(part)
        case Repeated(part, count):
            for single, times in parts_of_event(part):
                yield single, count * times
        case _:
            yield event, 1


def rho_of_event(event: Event) -> float:
    """The zCDP cost of the event that an accountant was charged."""
    return sum(times * _rho(part) for part, times in parts_of_event(event))


def _rho(event: Event) -> float:
    match event:
        case BoundedRange(epsilon):
            return epsilon**2 / 8.0
        case PureDP(epsilon):
            return epsilon**2 / 2.0
        case ZeroConcentrated(rho):
            return rho
        case Gaussian(noise_multiplier):
            return 1.0 / (2.0 * noise_multiplier**2)
    raise ValueError(f"event must be a privacy event, got {type(event).__name__}")


def ranges_of_event(event: Event) -> list[float]:
    """The bounded ranges of all kinds of draws, in order; 0 for an event without a draw.

    A bound on entries, if any, is drawn first.
    """
    drawn = [part for part, _ in parts_of_event(event) if isinstance(part, BoundedRange)]
    return [part.epsilon for part in drawn] or [0.0]
