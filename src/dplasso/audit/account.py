"""The cost of releases, computed a second time by short, slow code that shares nothing with the
product.

The formulae are those of `dplasso.privacy.zcdp`, whose docstring says where they are proved. They
are evaluated in another way: by a search over orders instead of the root of a derivative. The
product computes the Gaussian curve in closed form, as a difference of two Mills' ratios. Here it is
computed by its definition: the excess of the density of N(mu, 1) over e^epsilon times that of
N(0, 1), integrated over the draws where it is positive.
"""

import math
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from dplasso.privacy import events

_LAST_TERM = 60.0  # terms summed, times the probability to stop: the rest is e^-60
_LOG_ORDERS = (-40.0, 40.0)  # range of log(a - 1), where a is the order of the divergence
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)
# Edges of the pieces of an integral, in widths from the peak; the rest is 0 in double precision.
_EDGES = np.concatenate([np.arange(-40.0, 40.0, 2.0), [40.0]])


def epsilon_at(rho: float, delta: float) -> float:
    """The least epsilon, over all orders a, for which rho-zCDP implies (epsilon, delta)-DP."""
    if rho <= 0.0 or not math.isfinite(rho):
        return max(rho, 0.0)  # keeps NaN

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


@lru_cache(maxsize=256)
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


def parts_of_event(event: events.Event) -> Iterator[tuple[events.Event, int]]:
    """The single releases that an accountant was charged for, in order, with their counts."""
    match event:
        case events.Composed(parts):
            for part in parts:
                yield from parts_of_event(part)
        case events.Repeated(part, count):
            for single, times in parts_of_event(part):
                yield single, count * times
        case _:
            yield event, 1


def rho_of_event(event: events.Event) -> float:
    """The zCDP cost of the event that an accountant was charged."""
    return sum(times * _rho(part) for part, times in parts_of_event(event))


def _rho(event: events.Event) -> float:
    match event:
        case events.BoundedRange(epsilon):
            return epsilon**2 / 8.0
        case events.PureDP(epsilon):
            return epsilon**2 / 2.0
        case events.ZeroConcentrated(rho):
            return rho
        case events.Gaussian(noise_multiplier):
            return 1.0 / (2.0 * noise_multiplier**2)
    raise ValueError(f"event must be a privacy event, got {type(event).__name__}")


def ranges_of_event(event: events.Event) -> list[float]:
    """The bounded ranges of all kinds of draws, in order; 0 for an event without a draw.

    A bound on entries, if any, is drawn first.
    """
    drawn = [part for part, _ in parts_of_event(event) if isinstance(part, events.BoundedRange)]
    return [part.epsilon for part in drawn] or [0.0]


def log_delta_at(mu: float, epsilon: float) -> float:
    """The logarithm of the least delta for which mu-GDP implies (epsilon, delta)-DP.

    The likelihood ratio exceeds e^epsilon above the draw z = epsilon / mu + mu / 2. With t the
    distance above it and x = epsilon / mu - mu / 2, delta is the integral over t > 0 of
    phi(x + t) (1 - e^(-mu t)), by Gauss' rule in pieces. The maximum of phi is factored out first.
    """
    x = epsilon / mu - mu / 2.0
    peak, most = max(-x, 0.0), max(x, 0.0) ** 2  # where phi is largest, and -2 log phi there
    width = min(1.0, 1.0 / max(x, 1e-9))  # scale on which phi decays
    edges = np.clip(peak + width * _EDGES, 0.0, None)
    half = np.diff(edges)[:, None] / 2.0
    t = edges[:-1, None] + half * (1.0 + _NODES)
    density = np.exp(0.5 * (most - (x + t) ** 2)) * -np.expm1(-mu * t)
    total = float(np.sum(half * _WEIGHTS * density))
    return math.log(total) - 0.5 * (most + math.log(2.0 * math.pi)) if total > 0.0 else -math.inf


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The least epsilon for which mu-GDP implies (epsilon, delta)-DP."""
    if mu <= 0.0 or not math.isfinite(mu):
        return max(mu, 0.0)  # keeps NaN
    wanted = math.log(delta)
    if log_delta_at(mu, 0.0) <= wanted:
        return 0.0
    most = mu * (math.sqrt(-2.0 * wanted) + 2.0 + mu)
    return float(brentq(lambda e: log_delta_at(mu, e) - wanted, 0.0, most, xtol=1e-13, rtol=1e-13))


@lru_cache(maxsize=256)
def mu_for(epsilon: float, delta: float) -> float:
    """The mu whose epsilon at ``delta`` is the given one."""
    wanted = math.log(delta)

    def excess(log_mu: float) -> float:
        return max(log_delta_at(math.exp(log_mu), epsilon), -1e9) - wanted

    return math.exp(brentq(excess, -18.0, math.log(math.sqrt(2.0 * epsilon) + 20.0), xtol=1e-13))


def multipliers_of(event: events.Event) -> list[float]:
    """Noise multipliers of all Gaussian releases that an accountant was charged for, in order.

    Draws by the exponential mechanism have none.
    """
    found = []
    for part, times in parts_of_event(event):
        if not isinstance(part, events.Gaussian | events.BoundedRange):
            raise ValueError(f"event must be of Gaussian releases, got {type(part).__name__}")
        found += [part.noise_multiplier] * times if isinstance(part, events.Gaussian) else []
    return found


def mu_of(multipliers: list[float]) -> float:
    """The joint cost of releases with these noise multipliers: squares add up."""
    if 0.0 in multipliers:
        return math.inf
    return math.sqrt(math.fsum(1.0 / multiplier**2 for multiplier in multipliers))


def over(figure: float, charged: float) -> float:
    """A figure divided by the charge; infinite where nothing was charged."""
    return figure / charged if charged else math.inf


class Recorder:
    """Records the charges, and spends no budget."""

    def __init__(self) -> None:
        self.charges: list[tuple[events.Event, float, str, str]] = []

    def charge(
        self, event: events.Event, *, delta: float, neighboring: str, label: str, unit: str = "row"
    ) -> None:
        self.charges.append((event, delta, neighboring, unit))

    def __sklearn_clone__(self) -> "Recorder":
        return self

    def event(self) -> events.Event:
        """Everything that was charged."""
        return events.Composed(tuple(event for event, *_ in self.charges))

    def terms_differing(self, delta: float, neighboring: str, unit: str = "row") -> int:
        """Number of charges that are superfluous, missing, or on other terms."""
        terms = [charge[1:] for charge in self.charges]
        return sum(term != (delta, neighboring, unit) for term in terms) + (len(terms) != 1)
