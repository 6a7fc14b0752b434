"""What a normal number has behind the point, when its whole part is known already.

`GridGaussian` draws floor(X). Where X itself enters a sum that is rounded down only afterwards, the
digits behind the point matter, about once in a million times. They are drawn here, when asked for.

Formal guarantees
-----------------
Given floor(X) = n, the fraction u of X has a density proportional to exp(-(n + u)^2 / 2 sigma^2) on
[0, 1), and follows it exactly: a uniform number is kept with the chance exp(-u (2n + u) / 2
sigma^2), and where the digits drawn do not decide that beyond doubt, more are drawn. Negative n is
the mirror image. It reads no data: cost and neighbouring relation are stated by the mechanism that
adds it.
"""

from decimal import Decimal, localcontext
from fractions import Fraction

from dplasso.mechanisms.noise_key import NoiseKey

_FIRST_BITS = 64
# Decimal digits beyond those that so many bits are worth.
_SPARE_DIGITS = 10


class GaussianFraction:
    """Binary digits of the fraction of X, a number of its own for every name.

    >>> key = NoiseKey(bytes(32), secure=False)
    >>> fraction = GaussianFraction(4096.0, key)
    >>> fraction.digits(40, 1000, (1, 2)) >> 20 == fraction.digits(20, 1000, (1, 2))
    True
    """

    def __init__(self, sigma: float, key: NoiseKey) -> None:
        self._double_square = 2 * Fraction(sigma) ** 2
        self._key = key

    def digits(self, count: int, whole: int, name: tuple[int, ...]) -> int:
        """The first ``count`` digits, given the whole part; the same for the same name."""
        size = whole if whole >= 0 else ~whole
        attempt = 0
        while not self._kept(size, (*name, attempt)):
            attempt += 1
        found = self._key.digits(count, *name, attempt, 0)
        return found if whole >= 0 else found ^ ((1 << count) - 1)

    def _kept(self, size: int, name: tuple[int, ...]) -> bool:
        # Whatever the digits are, the chance is no smaller than 1 less this.
        most = Fraction(2 * size + 1) / self._double_square
        bits = _FIRST_BITS
        while True:
            drawn = Fraction(self._key.digits(bits, *name, 1), 1 << bits)
            if drawn + Fraction(1, 1 << bits) <= 1 - most:
                return True
            fraction = Fraction(self._key.digits(bits, *name, 0), 1 << bits)
            least = self._chance(size, fraction + Fraction(1, 1 << bits), bits)
            largest = self._chance(size, fraction, bits)
            error = Fraction(4, 1 << bits)
            if drawn + error < least:
                return True
            if drawn > largest + error:
                return False
            bits *= 2

    def _chance(self, size: int, fraction: Fraction, bits: int) -> Fraction:
        """exp(-u (2n + u) / 2 sigma^2), to within 2^-bits."""
        exponent = fraction * (2 * size + fraction) / self._double_square
        with localcontext(prec=bits // 3 + _SPARE_DIGITS):
            return Fraction((Decimal(-exponent.numerator) / exponent.denominator).exp())
