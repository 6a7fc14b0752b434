"""Gaussian noise rounded down to whole numbers, drawn exactly: the table, and the close calls.

The law is that of floor(X), X normal with mean 0 and standard deviation sigma. The size |X| is
drawn by rejection. The half-line is cut into cells of equal width, a power of two, up to `REACH`
standard deviations, and a tail. The tickets of a cell are proportional to its density at the left
end, where it is highest, rounded up; all tickets, with the void ones, are 2^63. A ticket, a uniform
place k in its cell and a uniform fraction t are drawn, and k is kept with probability

    scale * exp(-(k + t)^2 / (2 sigma^2)) / tickets of the cell.

Then every point is kept at a rate proportional to its density, whatever the rounding of tickets, so
the law is exact if all other steps are. The result is k for positive X and -k - 1 for negative X.

Formal guarantees
-----------------
If the bits of the generator are independent and fair, a draw follows its law exactly: there is no
truncated tail and no rounded probability. Compiled code (``kernels/grid_gaussian.py``) decides the
draws for which double precision suffices; the others are decided here, with as many digits as
needed. This module reads no data: the mechanism that adds the noise states cost and neighbouring
relation. The time a draw takes depends on the draw, and is not protected.
"""

import functools
import math
from decimal import Decimal, localcontext

import numpy as np

from dplasso.base.arrays import Ints
from dplasso.kernels import grid_gaussian as kernel
from dplasso.mechanisms.exact_noise import uniform_below

# Cells end here; a draw lies beyond with a probability of about 2^-55.
REACH = 8.5
LEAST_SIGMA, MOST_SIGMA = 2.0**12, 2.0**48
# Bound on the error of a probability that takes a few double operations and the engine's own
# exponential, whose relative error is at most 1e-14. A probability is at most 1, and each of the
# operations adds at most 2^-52, so the true bound is less than a fifth of this one.
MARGIN = 1e-13

_TOTAL = 1 << (kernel.BOX_BITS + kernel.TICKET_BITS)
# Decimal digits used to compute the table.
_DIGITS = 60
# Digits of the first attempt at a close call (each further attempt has twice as many), additional
# digits, and random bits per digit. k bits determine a number to 2^-k, and its logarithm, unless
# the number is close to 0, to 2^-(k / 4), which must be below 10^-digits.
_FIRST_DIGITS, _SPARE_DIGITS, _BITS_A_DIGIT = 30, 30, 16


class GaussianCells:
    """The table for one sigma, from 2^12 to 2^48; a Decimal is used to its last digit."""

    def __init__(
        self, sigma: float | Decimal, *, reach: float = REACH, margin: float = MARGIN
    ) -> None:
        if not LEAST_SIGMA <= sigma <= MOST_SIGMA:
            raise ValueError(f"sigma must lie between 2^12 and 2^48, got {sigma!r}; rescale it")
        self.sigma, self._exact_sigma = float(sigma), Decimal(sigma)
        self.width_bits = math.frexp(self.sigma)[1] - 6  # 1/64 to 1/32 of sigma
        self.count = math.ceil(reach * self.sigma / 2**self.width_bits)
        with localcontext(prec=_DIGITS):
            self._lay_out(margin)

    def _lay_out(self, margin: float) -> None:
        count, width = self.count, 1 << self.width_bits
        heights = self._heights(width)
        edge = Decimal(count * width)
        tail = heights[count] * self._exact_sigma**2 / (edge * width)
        total = sum(heights[:count], tail)
        areas = [*heights[:count], tail]
        # Two more tickets each than computed: no probability exceeds 1, whatever the rounding.
        self.scale = (_TOTAL - 3 * len(areas)) / total
        self.tickets = tickets = [int(self.scale * area) + 2 for area in areas]
        bits = 64 - self.width_bits
        sure, lead = np.empty(count, np.int64), np.empty(count)
        for cell in range(count):
            least = self.scale * heights[cell + 1] / tickets[cell]
            sure[cell] = int(least * 2**bits) - 1
            lead[cell] = float(self.scale * heights[cell] / tickets[cell])
        cut, alias = _alias([*tickets, _TOTAL - sum(tickets)])
        self.table = kernel.Cells(cut, alias, sure, lead, self.width_bits, self.sigma, margin)

    def _heights(self, width: int) -> list[Decimal]:
        """The density at every edge, up to a factor, each computed from the previous one."""
        heights, ratio, change = [Decimal(1)], self._height(width), self._height(width) ** 2
        for _ in range(self.count):
            heights.append(heights[-1] * ratio)
            ratio *= change
        return heights

    def _height(self, x: Decimal | int) -> Decimal:
        """exp(-x^2 / (2 sigma^2)), to the digits of the context."""
        return (-(Decimal(x) ** 2) / (2 * self._exact_sigma**2)).exp()

    def decided(self, row: Ints, generator: np.random.Generator) -> int:
        """The result of a close call: its own place if that is kept, otherwise another draw."""
        place = self._kept(
            int(row[kernel.CELL]),
            int(row[kernel.OFFSET]),
            (int(row[kernel.FIRST_BITS]) << 64) + int(row[kernel.MORE_BITS]) % 2**64,
            128 - self.width_bits,
            generator,
        )
        if place is None:
            return self.draw(generator)
        return place ^ int(row[kernel.SIGN])

    def draw(self, generator: np.random.Generator) -> int:
        """One draw with integers and as many digits as needed; slow."""
        while True:
            ticket, cell = uniform_below(_TOTAL, generator), 0
            while cell <= self.count and ticket >= self.tickets[cell]:
                ticket -= self.tickets[cell]
                cell += 1
            if cell > self.count:
                continue
            offset = uniform_below(1 << self.width_bits, generator)
            place = self._kept(cell, offset, 0, 0, generator)
            if place is not None:
                return place ^ -uniform_below(2, generator)

    def _kept(
        self, cell: int, offset: int, drawn: int, bits: int, generator: np.random.Generator
    ) -> int | None:
        """The size if it is kept; ``drawn`` has the first ``bits`` of the number that decides."""
        if cell == self.count:
            return self._kept_in_tail(generator)
        place = (cell << self.width_bits) + offset
        fraction, known, digits = 0, 0, _FIRST_DIGITS
        while True:
            more = _BITS_A_DIGIT * digits
            drawn = (drawn << more) + uniform_below(1 << more, generator)
            fraction = (fraction << more) + uniform_below(1 << more, generator)
            bits, known = bits + more, known + more
            with localcontext(prec=digits + _SPARE_DIGITS):
                x = place + Decimal(fraction) / 2**known
                chance = self.scale * self._height(x) / self.tickets[cell]
                verdict = _below(Decimal(drawn) / 2**bits, chance, _error(digits))
            if verdict is not None:
                return place if verdict else None
            digits *= 2

    def _kept_in_tail(self, generator: np.random.Generator) -> int | None:
        """A size beyond the last cell: an exponential number past the edge, kept or rejected.

        At distance d past the edge e, exp(-(e + d)^2 / 2 sigma^2) is the product of
        exp(-e^2 / 2 sigma^2), an exponential density in d of rate e / sigma^2, and
        exp(-d^2 / 2 sigma^2), the probability to keep d.
        """
        edge = self.count << self.width_bits
        first, second, bits, digits = 0, 0, 0, _FIRST_DIGITS
        while True:
            more = _BITS_A_DIGIT * digits
            first = (first << more) + uniform_below(1 << more, generator)
            second = (second << more) + uniform_below(1 << more, generator)
            bits += more
            # The logarithm of a smaller number needs more bits.
            if first >= 1 << (3 * bits // 4):
                with localcontext(prec=digits + _SPARE_DIGITS):
                    square, error = self._exact_sigma**2, _error(digits)
                    exponential = -(Decimal(first) / 2**bits).ln()
                    past = exponential * square / edge
                    area = self._height(edge) * square / (edge * Decimal(1 << self.width_bits))
                    chance = self.scale * area * self._height(past) / self.tickets[self.count]
                    verdict = _below(Decimal(second) / 2**bits, chance, error)
                    low, high = past - error * square / edge, past + error * square / edge
                    whole = math.floor(max(low, Decimal(0)))
                if verdict is not None and whole == math.floor(high):
                    return edge + whole if verdict else None
            digits *= 2


@functools.lru_cache(maxsize=32)
def cells_of(sigma: float) -> GaussianCells:
    """The table for one sigma, made once: it takes some milliseconds, and depends on sigma only."""
    return GaussianCells(sigma)


def _error(digits: int) -> Decimal:
    """Bound on the error from rounding to ``digits`` and from the bits not drawn yet."""
    return Decimal(10) ** (8 - digits)


def _below(number: Decimal, chance: Decimal, error: Decimal) -> bool | None:
    """Whether a number lies below a probability; None if the two are too close to call."""
    if abs(number - chance) <= error:
        return None
    return number < chance


def _alias(tickets: list[int]) -> tuple[Ints, Ints]:
    """Walker's alias table for 2^63 tickets in total: every box holds 2^53, of two owners."""
    boxes, full = 1 << kernel.BOX_BITS, 1 << kernel.TICKET_BITS
    left = tickets + [0] * (boxes - len(tickets))
    cut, alias = np.full(boxes, full, np.int64), np.arange(boxes)
    small = [k for k in range(boxes) if left[k] < full]
    large = [k for k in range(boxes) if left[k] >= full]
    while small:
        box, giver = small.pop(), large[-1]
        cut[box], alias[box] = left[box], giver
        left[giver] -= full - left[box]
        if left[giver] < full:
            small.append(large.pop())
    return cut, alias
