"""The cost of Gaussian releases, computed a second time without code of the product.

The product computes the Gaussian curve in closed form, as a difference of two Mills' ratios. Here
it is computed by its definition: the excess of the density of N(mu, 1) over e^epsilon times that of
N(0, 1), integrated over the draws where it is positive.
"""

import math

import numpy as np
from scipy.optimize import brentq

from dplasso.audit.account import parts_of_event
from dplasso.privacy.events import BoundedRange, Event, Gaussian

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)
# Edges of the pieces, in widths from the peak; the rest is 0 in double precision.
_EDGES = np.concatenate([np.arange(-40.0, 40.0, 2.0), [40.0]])


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
    if mu <= 0.0 or math.isinf(mu):
        return max(mu, 0.0)
    wanted = math.log(delta)
    if log_delta_at(mu, 0.0) <= wanted:
        return 0.0
    most = mu * (math.sqrt(-2.0 * wanted) + 2.0 + mu)
    return float(brentq(lambda e: log_delta_at(mu, e) - wanted, 0.0, most, xtol=1e-13, rtol=1e-13))


def mu_for(epsilon: float, delta: float) -> float:
    """The mu whose epsilon at ``delta`` is the given one."""
    wanted = math.log(delta)

    def excess(log_mu: float) -> float:
        return max(log_delta_at(math.exp(log_mu), epsilon), -1e9) - wanted

    return math.exp(brentq(excess, -18.0, math.log(math.sqrt(2.0 * epsilon) + 20.0), xtol=1e-13))


def multipliers_of(event: Event) -> list[float]:
    """Noise multipliers of all Gaussian releases that an accountant was charged for, in order.

    Draws by the exponential mechanism have none.
    """
    found = []
    for part, times in parts_of_event(event):
        if not isinstance(part, Gaussian | BoundedRange):
            raise ValueError(f"event must be of Gaussian releases, got {type(part).__name__}")
        found += [part.noise_multiplier] * times if isinstance(part, Gaussian) else []
    return found


def mu_of(multipliers: list[float]) -> float:
    """The joint cost of releases with these noise multipliers: squares add up."""
    if 0.0 in multipliers:
        return math.inf
    return math.sqrt(math.fsum(1.0 / multiplier**2 for multiplier in multipliers))
