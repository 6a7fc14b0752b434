"""The fractional part of a normal number whose integer part is known.

`GridGaussian` draws floor(X). Where X itself enters a sum that is rounded down only afterwards, its
fractional digits matter about once in a million times. They are drawn here on demand.

Formal guarantees
-----------------
Given floor(X) = n, the fraction u of X has a density proportional to exp(-(n + u)^2 / 2 sigma^2) on
[0, 1), and follows it exactly: a uniform number is kept with probability exp(-u (2n + u) / 2
sigma^2), and if the digits drawn do not decide that, more are drawn. Negative n is the mirror
image. This module reads no data: the mechanism that adds the noise states cost and neighbouring
relation.
"""

from decimal import Decimal, localcontext
from fractions import Fraction

from dplasso.mechanisms.noise_key import NoiseKey

_FIRST_BITS = 64
# Decimal digits in addition to those that the bits correspond to.
_SPARE_DIGITS = 10


class GaussianFraction:
    """Binary digits of the fraction of X; every name has an independent fraction.

    >>> key = NoiseKey(bytes(32), secure=False)
    >>> fraction = GaussianFraction(4096.0, key)
    >>> fraction.digits(40, 1000, (1, 2)) >> 20 == fraction.digits(20, 1000, (1, 2))
    True
    """

    def __init__(self, sigma: float, key: NoiseKey) -> None:
        self._double_square, self._rough = 2 * Fraction(sigma) ** 2, 2.0 * sigma * sigma
        self._key = key

    def digits(self, count: int, whole: int, name: tuple[int, ...]) -> int:
        """The first ``count`` digits given the integer part; the same for the same name."""
        size, attempt = whole if whole >= 0 else ~whole, 0
        # Lower bound on the probability to keep any fraction, reduced to allow for rounding.
        sure = int((1.0 - (2 * size + 1) / self._rough - 1e-14) * 2.0**_FIRST_BITS)
        while True:
            found, drawn = self._key.two_numbers(max(count, _FIRST_BITS), *name, attempt)
            spare = max(count, _FIRST_BITS) - _FIRST_BITS
            if drawn >> spare < sure or self._kept(size, (*name, attempt)):
                found >>= max(0, _FIRST_BITS - count)
                return found if whole >= 0 else found ^ ((1 << count) - 1)
            attempt += 1

    def _kept(self, size: int, name: tuple[int, ...]) -> bool:
        """Decide an attempt that the first bits do not decide."""
        bits = _FIRST_BITS
        while True:
            unit = Fraction(1, 1 << bits)
            fraction, drawn = (unit * number for number in self._key.two_numbers(bits, *name))
            least = self._chance(size, fraction + unit, bits)
            if drawn + 4 * unit < least:
                return True
            if drawn > self._chance(size, fraction, bits) + 4 * unit:
                return False
            bits *= 2

    def _chance(self, size: int, fraction: Fraction, bits: int) -> Fraction:
        """exp(-u (2n + u) / 2 sigma^2), to within 2^-bits."""
        exponent = fraction * (2 * size + fraction) / self._double_square
        with localcontext(prec=bits // 3 + _SPARE_DIGITS):
            return Fraction((Decimal(-exponent.numerator) / exponent.denominator).exp())
