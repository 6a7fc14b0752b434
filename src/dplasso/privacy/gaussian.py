"""Gaussian releases, priced exactly: mu-GDP, and what that means in (epsilon, delta).

Formal guarantees
-----------------
A mechanism is mu-GDP when telling two neighbours apart from its output is at least as hard as
telling N(0, 1) from N(mu, 1) by one draw (Dong, Roth and Su, 2022). The neighbouring relation is
that of the events; nothing here depends on it.

- A Gaussian release of noise multiplier s (`Gaussian`) is 1/s-GDP, and not more.
- Adaptively chosen parts of mu_1, mu_2, ... are together sqrt(mu_1^2 + mu_2^2 + ...)-GDP: squares
  add, so a budget mu^2 may be split into shares. mu-GDP is also (mu^2 / 2)-zCDP: a ledger kept in
  rho (`dplasso.privacy.zcdp`) can count the same events, at a little more.
- mu-GDP is (epsilon, delta)-DP exactly where

      delta >= Phi(-epsilon / mu + mu / 2) - e^epsilon Phi(-epsilon / mu - mu / 2)

  (Balle and Wang, 2018). There is no tighter statement.

Rounding. With x = epsilon / mu - mu / 2, y = epsilon / mu + mu / 2 and Mills' ratio R, the right
side is phi(x) (R(x) - R(y)): both of its terms share their exponential, and nothing overflows.
All three conversions treat mu as larger by a relative 1e-9, `mu_of` by twice that, so that what it
grants converts back to no more than was asked. For epsilon from 0 to 100, mu from 1e-6 to 30 and
delta from 1e-300 to 0.5 that exceeds the error of the formulas, by comparison with arithmetic of
many digits, not by proof.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from scipy.special import erfcx, log_ndtr

from dplasso.base import checks
from dplasso.privacy.events import Composed, Event, Gaussian, Repeated

_SAFE = 1.0 + 1e-9
_MOST_LOG = 700.0  # largest |log mu| searched
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
# Below this half-width the difference of two Mills' ratios is taken from their derivatives.
_NARROW = 1e-3


class _Bracket(NamedTuple):
    below: float
    above: float


def mu(event: Event) -> float:
    """The GDP cost of an event made of Gaussian releases.

    Formal guarantees
    -----------------
    See the module. Other events have no exact cost of this kind and are rejected.

    >>> mu(Repeated(Gaussian(20.0), 100))
    0.5
    """
    return math.sqrt(_square(event))


def _square(event: Event) -> float:
    match event:
        case Gaussian(noise_multiplier):
            return 1.0 / noise_multiplier / noise_multiplier
        case Composed(events):
            return math.fsum(_square(part) for part in events)
        case Repeated(part, count):
            return count * _square(part) if count else 0.0
    raise ValueError(
        f"event must be made of Gaussian releases, got {type(event).__name__}: "
        "price other events in rho."
    )


def delta_of(mu: float, epsilon: float) -> float:
    """The least delta for which mu-GDP is (epsilon, delta)-DP.

    Formal guarantees
    -----------------
    See the module. It is above 0 even where it underflows, unless `mu` is 0 or `epsilon` infinite.
    """
    mu, epsilon = checks.budget("mu", mu), checks.budget("epsilon", epsilon)
    if mu == 0.0 or epsilon == math.inf:
        return 0.0
    if mu == math.inf:
        return 1.0
    log_delta = _log_delta(mu * _SAFE, epsilon)
    return min(1.0, math.nextafter(math.exp(min(0.0, log_delta)) * (1.0 + 1e-12), math.inf))


def epsilon_of(mu: float, delta: float) -> float:
    """The least epsilon for which mu-GDP is (epsilon, delta)-DP.

    Formal guarantees
    -----------------
    See the module; never below 0.
    """
    mu, delta = checks.budget("mu", mu), checks.probability("delta", delta)
    if mu in (0.0, math.inf):
        return mu
    mu, log_delta = mu * _SAFE, math.log(delta)
    if _log_delta(mu, 0.0) <= log_delta:
        return 0.0
    # At this epsilon Phi(-epsilon / mu + mu / 2) alone is below delta.
    most = mu * (math.sqrt(-2.0 * log_delta) + 1.0 + mu / 2.0)
    return _crossing(lambda epsilon: log_delta - _log_delta(mu, epsilon), 0.0, most).above


def mu_of(epsilon: float, delta: float) -> float:
    """The largest mu for which mu-GDP is (epsilon, delta)-DP.

    Formal guarantees
    -----------------
    See the module; rounded down.

    >>> round(mu_of(1.0, 1e-6), 4)
    0.2367
    """
    epsilon, delta = checks.budget("epsilon", epsilon), checks.probability("delta", delta)
    if epsilon == math.inf:
        return math.inf
    log_delta = math.log(delta)

    def excess(log_mu: float) -> float:
        return _log_delta(math.exp(log_mu), epsilon) - log_delta

    # Beyond sqrt(2 epsilon) + 80, delta is above a half and almost 1.
    most = math.log(math.sqrt(2.0 * epsilon) + 80.0)
    if excess(-_MOST_LOG) >= 0.0 or excess(most) < 0.0:
        raise ValueError(f"epsilon and delta allow no mu that can be computed, got {epsilon!r}.")
    return math.exp(_crossing(excess, -_MOST_LOG, most).below) / _SAFE / _SAFE


def split(mu: float, shares: Sequence[float]) -> tuple[float, ...]:
    """A mu for each share of mu^2; shares add up to at most 1.

    Formal guarantees
    -----------------
    Parts are rounded down: their squares add up to no more than mu^2.

    >>> split(1.0, (0.36, 0.64))
    (0.6, 0.8)
    """
    mu = checks.budget("mu", mu)
    if not shares or min(shares) < 0.0 or math.fsum(shares) > 1.0:
        raise ValueError(f"shares must be at least 0 and add up to at most 1, got {shares!r}.")
    parts = tuple(mu * math.sqrt(share) for share in shares)
    if math.fsum(part * part for part in parts) > mu * mu:
        parts = tuple(part * (1.0 - 1e-15) for part in parts)
    return parts


def rho_of_mu(mu: float) -> float:
    """The zCDP cost of a mu-GDP composition of Gaussian releases."""
    return 0.5 * checks.budget("mu", mu) ** 2


def _log_delta(mu: float, epsilon: float) -> float:
    """The logarithm of the exact delta."""
    half, middle = mu / 2.0, epsilon / mu
    x = middle - half
    if x < -30.0:
        # The two laws are almost certainly distinguishable; Mills' ratio would overflow.
        first, second = log_ndtr(-x), epsilon + log_ndtr(-middle - half)
        return float(first + math.log1p(-math.exp(min(second - first, -1e-300))))
    if half < _NARROW:
        # R(x - h) - R(x + h) = -2h R'(x) - h^3/3 R'''(x) - ...
        ratio = _mills(middle)
        one = middle * ratio - 1.0
        three = 2.0 * one + middle * (ratio + middle * one)
        difference = -2.0 * half * (one + half * half / 6.0 * three)
    else:
        difference = _mills(x) - _mills(middle + half)
    if not difference > 0.0:
        return -math.inf
    return -0.5 * x * x - _LOG_SQRT_2PI + math.log(difference)


def _mills(x: float) -> float:
    """(1 - Phi(x)) / phi(x)."""
    return math.sqrt(math.pi / 2.0) * float(erfcx(x / math.sqrt(2.0)))


def _crossing(increasing: Callable[[float], float], least: float, most: float) -> _Bracket:
    """Neighbouring numbers between which an increasing function crosses 0, by bisection.

    It must be below 0 at ``least`` and not below at ``most``; infinite values do no harm.
    """
    while True:
        middle = 0.5 * (least + most)
        if not least < middle < most:
            return _Bracket(least, most)
        if increasing(middle) < 0.0:
            least = middle
        else:
            most = middle
