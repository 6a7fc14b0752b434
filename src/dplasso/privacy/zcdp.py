"""Zero-concentrated differential privacy: what events cost, and what that means in (eps, delta).

Formal guarantees
-----------------
A mechanism is rho-zCDP when, for any two neighbours and every order a > 1, the Renyi divergence
of order a between its two output laws is at most a * rho (Bun and Steinke, 2016). The neighbouring
relation is that of the events; nothing here depends on it. Costs of adaptively chosen parts add
in rho and are converted to (epsilon, delta) once, at the end.

The conversion. For every order a > 1, rho-zCDP implies (epsilon, delta)-DP with

    ln delta = (a - 1)(a rho - epsilon + ln(1 - 1/a)) - ln a

(Canonne, Kamath and Steinke, 2020, Proposition 12). Every order gives a valid statement, so an
order found inexactly costs tightness, never validity. Write u = a - 1. The right side is convex in
u with derivative (1 + 2u) rho - epsilon - ln(1 + 1/u), hence at the best order

    epsilon = (1 + 2u) rho - ln(1 + 1/u)   and   ln(1/delta) = u^2 rho + ln(1 + u),

which makes each of epsilon, delta and rho, given the two others, the root of one monotone function
of u: on the curve of fixed delta, u falls and epsilon rises as rho rises.

Rounding. All three conversions round towards safety: they treat rho as larger by a relative 1e-13
(`rho_of` by twice that, so that what it grants converts back to no more than was asked). For rho
from 1e-12 to 1e3, epsilon from 1e-3 to 100 and delta from 1e-12 to 0.5 that exceeds the error of
the floating-point formulas, by comparison with 50-digit arithmetic, not by proof.
"""

import math
from collections.abc import Callable
from fractions import Fraction

from dplasso.base import checks
from dplasso.privacy.events import (
    BoundedRange,
    Composed,
    Event,
    Gaussian,
    PureDP,
    Release,
    Repeated,
    Selected,
    ZeroConcentrated,
)

_SAFE = 1.0 + 1e-13

# Orders searched: u = a - 1 from exp(-350) to exp(350), so that u * u is a normal number. Outside
# it the answer is delta = 1 or delta = 0 to the last digit, and the end of the range still bounds.
_MAX_LOG_U = 350.0


def rho(event: Event) -> float:
    """The zCDP cost of an event.

    Formal guarantees
    -----------------
    - epsilon-bounded-range is (epsilon^2 / 8)-zCDP (Cesar and Rogers, 2021): the log-ratio lies in
      an interval of length epsilon, and Hoeffding's lemma bounds its moments.
    - epsilon-DP is (epsilon^2 / 2)-zCDP, and a Gaussian of noise multiplier s is
      1 / (2 s^2)-zCDP (Bun and Steinke, 2016).
    - Adaptive composition adds, under one neighbouring relation.
    """
    match event:
        case BoundedRange(epsilon):
            return epsilon * epsilon / 8.0
        case PureDP(epsilon):
            return epsilon * epsilon / 2.0
        case Gaussian(noise_multiplier):
            return 0.5 / noise_multiplier / noise_multiplier
        case ZeroConcentrated(cost):
            return cost
        case Composed(events):
            return math.fsum(rho(part) for part in events)
        case Repeated(part, count):
            return count * rho(part) if count else 0.0
        case Selected():
            raise ValueError(
                "event is the best of several trials, which rho alone does not price: use "
                "dplasso.privacy.trials."
            )
    raise ValueError(f"event must be a privacy event, got {type(event).__name__}.")


def exact_rho(release: Release) -> Fraction:
    """The zCDP cost of one release, without rounding: its parameter is taken to the last bit.

    Formal guarantees
    -----------------
    As for `rho`. An infinite cost, which is no privacy, raises `OverflowError`.
    """
    match release:
        case BoundedRange(epsilon):
            return Fraction(epsilon) ** 2 / 8
        case PureDP(epsilon):
            return Fraction(epsilon) ** 2 / 2
        case Gaussian(noise_multiplier):
            if noise_multiplier == math.inf:
                return Fraction(0)
            return 1 / (2 * Fraction(noise_multiplier) ** 2)
        case ZeroConcentrated(cost):
            return Fraction(cost)
    raise ValueError(f"release must be a single privacy event, got {type(release).__name__}.")


def delta_of(rho: float, epsilon: float) -> float:
    """The least delta for which rho-zCDP is known to imply (epsilon, delta)-DP.

    Formal guarantees
    -----------------
    See the module; the result is never below the infimum over orders. It is above 0 even where
    the infimum underflows, unless `rho` is 0 or `epsilon` infinite: 0 would claim too much.
    """
    rho, epsilon = checks.budget("rho", rho), checks.budget("epsilon", epsilon)
    if rho == 0.0 or epsilon == math.inf:
        return 0.0
    if rho == math.inf:
        return 1.0
    rho *= _SAFE
    u = _crossing(lambda u: (1.0 + 2.0 * u) * rho - epsilon - math.log1p(1.0 / u))
    log_delta = u * ((1.0 + u) * rho - epsilon - math.log1p(1.0 / u)) - math.log1p(u)
    return min(1.0, math.nextafter(math.exp(min(0.0, log_delta)), math.inf))


def epsilon_of(rho: float, delta: float) -> float:
    """The least epsilon for which rho-zCDP is known to imply (epsilon, delta)-DP.

    Formal guarantees
    -----------------
    See the module; the result is never below the infimum over orders, nor below 0.
    """
    rho, delta = checks.budget("rho", rho), checks.probability("delta", delta)
    if rho == 0.0 or rho == math.inf:
        return rho
    rho *= _SAFE
    log_inverse = -math.log(delta)
    u = _crossing(lambda u: u * u * rho + math.log1p(u) - log_inverse)
    epsilon = (1.0 + u) * rho - math.log1p(1.0 / u) + (log_inverse - math.log1p(u)) / u
    return max(0.0, epsilon)


def rho_of(epsilon: float, delta: float) -> float:
    """The largest rho for which rho-zCDP is known to imply (epsilon, delta)-DP.

    Formal guarantees
    -----------------
    See the module; every order gives an admissible rho, so the result is never above the largest.
    """
    epsilon, delta = checks.budget("epsilon", epsilon), checks.probability("delta", delta)
    if epsilon == math.inf:
        return math.inf
    log_inverse = -math.log(delta)

    def excess(u: float) -> float:
        """Has the sign of `epsilon` minus the one whose best order at `delta` is 1 + u."""
        rho_u_u = log_inverse - math.log1p(u)
        return u * u * (epsilon + math.log1p(1.0 / u)) - (1.0 + 2.0 * u) * rho_u_u

    u = _crossing(excess)
    largest = (u * (epsilon + math.log1p(1.0 / u)) + math.log1p(u) - log_inverse) / (u * (1.0 + u))
    return max(0.0, largest / _SAFE / _SAFE)


def _crossing(increasing: Callable[[float], float]) -> float:
    """The u > 0 at which an increasing function crosses 0, or the end of the range next to it."""

    def at(log_u: float) -> float:
        return increasing(math.exp(log_u))

    if at(-_MAX_LOG_U) >= 0.0:
        return math.exp(-_MAX_LOG_U)
    if at(_MAX_LOG_U) <= 0.0:
        return math.exp(_MAX_LOG_U)
    from scipy.optimize import brentq  # it takes long to import, and most processes need none

    return math.exp(brentq(at, -_MAX_LOG_U, _MAX_LOG_U, xtol=1e-14, rtol=1e-14))
