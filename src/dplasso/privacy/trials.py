"""The best of a random number of trials: what a search costs.

Formal guarantees
-----------------
Let one trial be rho-zCDP, under whatever neighbouring relation, and let a search be `Selected`:
K independent trials, K drawn by a law that reads no data, and the best output released. For every
order a > 1 the Renyi divergence of order a between a search's two output laws is at most

    a rho + c + ln E[K] / (a - 1),      c = (1 + eta) min over b >= 1 of (b - 1) rho + L / b,

L = ln(1 / stop), eta = 0 for the logarithmic law and 1 for the geometric one (Papernot and Steinke,
2022, Theorem 2, at a rho for the divergence of order a). The minimum is 2 sqrt(rho L) - rho, at
b = sqrt(L / rho), or L where rho exceeds L. Every b gives a valid bound.

Put into the conversion of `dplasso.privacy.zcdp`, term by term: a bound of this form implies
(epsilon, delta)-DP wherever rho-zCDP is known to imply (epsilon - c, delta / E[K])-DP. A search
thus costs the rho of one trial and a `Shift`: c of epsilon, and a factor E[K] of delta. Shifts add
under composition, as rho does, with searches and with all else: no order has to be fixed.

Rounding. Shifts are computed in 80 decimal digits and rounded up, `stop` being taken to the last
bit; decimal arithmetic gives the same digits on every machine. What they leave of (epsilon, delta)
is rounded down.
"""

import math
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction
from typing import NamedTuple

from dplasso.base import checks
from dplasso.privacy import zcdp
from dplasso.privacy.events import TrialLaw

_DIGITS = 80
# Exceeds the relative error of a dozen operations with 80 digits.
_SAFE = Decimal(1).scaleb(-70)
# What is left of delta must be a normal number.
_LEAST_DELTA = 1e-300
_SAFE_DOWN = 1.0 - 1e-15


class Shift(NamedTuple):
    """The cost of searches in addition to rho: an epsilon, and the log of a divisor of delta."""

    epsilon: Fraction
    log_delta: Fraction

    def left_of(self, epsilon: float, delta: float) -> tuple[float, float]:
        """The rest of (epsilon, delta) for a cost in rho; epsilon is 0 if nothing is left.

        >>> Shift(Fraction(1, 4), Fraction(0)).left_of(1.0, 1e-6)
        (0.75, 1e-06)
        """
        if not any(self):
            return epsilon, delta
        left = Fraction(epsilon) - self.epsilon
        rest = delta * math.exp(-min(float(self.log_delta), 1e4)) * _SAFE_DOWN
        if left <= 0 or rest < _LEAST_DELTA:
            return 0.0, delta
        rounded = float(left)
        return (rounded if rounded <= left else math.nextafter(rounded, 0.0)), (
            rest if self.log_delta else delta
        )


def mean_trials(stop: float, law: TrialLaw) -> float:
    """The expected number of trials.

    >>> mean_trials(0.25, "geometric"), round(mean_trials(0.25, "logarithmic"), 3)
    (4.0, 2.164)
    """
    stop = checks.probability("stop", stop)
    return 1.0 / stop if law == "geometric" else (1.0 - stop) / stop / -math.log(stop)


def stop_for(trials: float, law: TrialLaw) -> float:
    """The `stop` whose expected number of trials is the given one, a number above 1.

    >>> stop_for(4.0, "geometric")
    0.25
    """
    trials = checks.bound("trials", trials)
    if not 1.01 <= trials <= 1e6:
        raise ValueError(
            f"trials must lie between 1.01 and a million, got {trials!r}: it is how many are made "
            "on average; without a choice to make, fit the estimator itself."
        )
    low, high = 1e-9, 1.0 - 1e-9
    if law == "geometric":
        return 1.0 / trials
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if mean_trials(middle, law) > trials else (low, middle)
    return high


def shift_of(rho: Fraction, stop: float, law: TrialLaw) -> Shift:
    """The cost of a search with trials of `rho`, in addition to `rho`.

    Formal guarantees
    -----------------
    See the module. Never below the formulae, and above them by a relative 1e-69 at most.
    """
    with localcontext(Context(prec=_DIGITS)):
        cost = Decimal(rho.numerator) / Decimal(rho.denominator)
        halt = Decimal(stop)
        length = -halt.ln()
        extra = 2 * (cost * length).sqrt() - cost if cost < length else length
        mean = 1 / halt if law == "geometric" else (1 - halt) / halt / length
        factor = 2 if law == "geometric" else 1
        return Shift(_up(factor * extra), _up(mean.ln()))


def epsilon_of(rho: float, delta: float, stop: float, law: TrialLaw) -> float:
    """The least epsilon for which a search with trials of `rho` is known to be (epsilon, delta)-DP.

    Formal guarantees
    -----------------
    See the module; rounded up.
    """
    rho, delta = checks.budget("rho", rho), checks.probability("delta", delta)
    if rho == math.inf:
        return rho
    return epsilon_with(rho, shift_of(Fraction(rho), stop, law), delta)


def epsilon_with(rho: float, shift: Shift, delta: float) -> float:
    """The same for summed costs; math.inf if nothing is known."""
    beside = math.nextafter(float(shift.epsilon), math.inf) if shift.epsilon else 0.0
    left, rest = shift.left_of(2.0 * beside + 1.0, delta)
    if not left:
        return math.inf
    found = zcdp.epsilon_of(rho, rest) + beside
    return math.nextafter(found, math.inf) if beside else found


def rho_of(epsilon: float, delta: float, stop: float, law: TrialLaw) -> float:
    """The largest rho of a trial for which the search is known to be (epsilon, delta)-DP.

    Formal guarantees
    -----------------
    See the module; below the largest by a relative 1e-12, so that a ledger of (epsilon, delta)
    admits the search.

    >>> rho = rho_of(1.0, 1e-6, stop_for(20.0, "logarithmic"), "logarithmic")
    >>> round(zcdp.epsilon_of(rho, 1e-6), 3)
    0.55
    """
    epsilon, delta = checks.bound("epsilon", epsilon), checks.probability("delta", delta)
    low, high = 0.0, zcdp.rho_of(epsilon, delta)
    while low < (middle := 0.5 * (low + high)) < high:
        left, rest = shift_of(Fraction(middle), stop, law).left_of(epsilon, delta)
        fits = left > 0.0 and middle <= zcdp.rho_of(left, rest)
        low, high = (middle, high) if fits else (low, middle)
        if high - low <= 1e-14 * high:
            break
    if low <= 0.0:
        raise ValueError(
            f"epsilon is too small for a search at this delta, got {epsilon!r}: raise it, or fit "
            "the estimator itself."
        )
    return low * (1.0 - 1e-12)


def _up(value: Decimal) -> Fraction:
    """Round up to a value that is not below the exact one."""
    if value <= 0:  # for rho = 0, or a mean close to 1
        return Fraction(0) if value == 0 else Fraction(_SAFE)
    return Fraction(Context(prec=_DIGITS, rounding=ROUND_CEILING).multiply(value, 1 + _SAFE))
