"""The exponential mechanism on whole-number scores, drawn exactly."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np

from dplasso.base.arrays import Ints
from dplasso.mechanisms.exact_noise import uniform_below

_MOST_BITS, _SUM_BITS = 40, 62
_DIGITS, _GUARD = 20, 10


def draw_by_score(scores: Ints, theta: Fraction, generator: np.random.Generator) -> int:
    """A place, with probability proportional to exp(theta * its score).

    Formal guarantees
    -----------------
    - Neighbouring: any relation under which all scores move within a range of at most Delta, Delta
      a public whole number.
    - Cost: (theta * Delta)-bounded-range (`dplasso.privacy.events.BoundedRange`).
    - Assumptions: scores are exact; theta, Delta and the number of scores are public; the
      generator's bits are fair and secret.
    - Rounding: none. Places are proposed by whole numbers of tickets, each at least what its weight
      is worth, and kept with probability weight over tickets, which is decided to as many digits as
      it takes. The time a draw takes depends on the scores, and is not protected.
    """
    if scores.ndim != 1 or scores.dtype != np.int64 or len(scores) == 0:
        raise ValueError("scores must be a vector of int64 that is not empty")
    if theta < 0:
        raise ValueError(f"theta must be at least 0, got {theta}")
    # Unsigned, so that a difference of any two scores is exact.
    losses = scores.max().astype(np.uint64) - scores.astype(np.uint64)
    bits = min(_MOST_BITS, _SUM_BITS - len(scores).bit_length())
    # Rounding moves an exponential by far less than one ticket: two more are enough.
    tickets = np.floor(np.exp(-float(theta) * losses.astype(np.float64)) * 2.0**bits)
    last = np.cumsum(tickets.astype(np.int64) + 2)
    while True:
        ticket = uniform_below(int(last[-1]), generator)
        place = int(np.searchsorted(last, ticket, side="right"))
        share = Fraction(2**bits, int(tickets[place]) + 2)
        if _scaled_exponential(share, theta * int(losses[place]), generator):
            return place


def _scaled_exponential(factor: Fraction, gamma: Fraction, generator: np.random.Generator) -> bool:
    """True with probability factor * exp(-gamma), which is at most 1."""
    digits, drawn = _DIGITS, uniform_below(10**_DIGITS, generator)
    while True:
        with localcontext() as context:
            context.prec = digits + _GUARD
            exponential = (-(Decimal(gamma.numerator) / Decimal(gamma.denominator))).exp()
            level = Decimal(factor.numerator) / Decimal(factor.denominator) * exponential
            level = level.scaleb(digits)
            # The level is right to more than half the guard's digits.
            slack = Decimal(1).scaleb(-_GUARD // 2)
            if drawn + 1 <= level - slack:
                return True
            if drawn >= level + slack:
                return False
        drawn = drawn * 10**_DIGITS + uniform_below(10**_DIGITS, generator)
        digits += _DIGITS
