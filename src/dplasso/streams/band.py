"""Noise of a sliding band: each step draws a vector, which later steps reuse with smaller weights.

With c_0 = 1, c_k = c_(k-1) (2k - 1) / 2k, the coefficients of 1 / sqrt(1 - x), and independent
normal vectors X_1, X_2, ..., the noise of step t is the sum over k < window of c_k X_(t-k).
"""

import math

import numpy as np

from dplasso.base import threads as pool
from dplasso.base.arrays import Floats, Ints
from dplasso.kernels.band import add_weighted
from dplasso.mechanisms.gaussian_fraction import GaussianFraction
from dplasso.mechanisms.grid_gaussian import GridGaussian
from dplasso.mechanisms.noise_key import NoiseKey
from dplasso.streams.process import Grid, Noise, NoiseProcess, toeplitz

# Coefficients are multiples of 2^-30; X is first drawn as a multiple of 2^-20 grid units. The error
# of that is below 1 grid unit in total: coefficients of the longest band add up to 1,156.
COEFFICIENT_BITS, FINE_BITS = 30, 20
LONGEST = 1 << 20
_BITS = COEFFICIENT_BITS + FINE_BITS
_FIRST_DIGITS = 64


def coefficients(window: int) -> Ints:
    """c_0, ..., c_(window - 1), rounded to multiples of 2^-COEFFICIENT_BITS."""
    return np.rint(real_coefficients(window) * 2.0**COEFFICIENT_BITS).astype(np.int64)


def band_sensitivity(window: int) -> float:
    """Sensitivity of the releases of ``window`` steps to one row, in standard deviations of X.

    Formal guarantees
    -----------------
    A bound on the 2-norm of the first ``window`` coefficients of 1 / ((1 - x) b(x)), b having the
    rounded coefficients. With b = c + e, 1 / c = sqrt(1 - x) has coefficients r of absolute sum at
    most 2, so that 1 / ((1 - x) b) = c / (1 + r e), whose 2-norm is at most |c| / (1 - 2 |e|), |e|
    the absolute sum of e (Young's inequality). c itself is computed to within a relative 2^-30.
    """
    real = real_coefficients(window)
    rounding = math.fsum(np.abs(coefficients(window) / 2.0**COEFFICIENT_BITS - real))
    computing = math.fsum(real) * 2.0**-30
    return math.sqrt(math.fsum(real**2)) * (1.0 + 2.0**-30) / (1.0 - 2.0 * (rounding + computing))


def real_coefficients(window: int) -> Floats:
    """c_0, ..., c_(window - 1)."""
    k = np.arange(1, window)
    real: Floats = np.concatenate(([1.0], np.cumprod((2.0 * k - 1.0) / (2.0 * k))))
    return real


class BandNoise(NoiseProcess):
    """The noise of a sliding band, rounded down; ``sigma`` is that of X, in grid units.

    Formal guarantees
    -----------------
    - Neighbouring: one row of the stream differs, by at most Delta in the 2-norm. Rows may depend
      on earlier releases.
    - Cost: let B be the matrix of the band, lower triangular with ones on its diagonal, and A that
      of running sums. Sums plus B X are B (C rows + X) for C = A / B. The releases up to step h are
      a function of the first h entries of C rows + X, in which row i moves entries i to h by the
      first h - i + 1 coefficients of 1 / ((1 - x) b(x)). While the row is one of the last
      ``window``, these depend only on the coefficients of b within the band, and their length is at
      most `band_sensitivity`. So all releases up to there are (Delta band_sensitivity / sigma)-GDP;
      for later ones there is no bound.
    - Exactness: b are the rounded coefficients. Sums are integers s, so that s + floor(B X) =
      floor(s + B X): a release is post-processing of one with real noise. floor(B X) is drawn
      exactly: 2^FINE_BITS X is drawn rounded down and summed without rounding, and if the omitted
      digits could matter, one time in many thousands, they are drawn too (`GaussianFraction`). No
      failure probability is set aside.
    - Memory: ``window`` vectors of noise, or a few with ``kept=False``: each step then draws all of
      them again.
    """

    def __init__(
        self, dimension: int, window: int, sigma: float, grid: Grid, key: NoiseKey, kept: bool
    ) -> None:
        self._window, self._key = window, key
        self._coefficients = coefficients(window)
        self._most_left_out = int(self._coefficients.sum())
        fine = math.ldexp(sigma, FINE_BITS)
        self._deviation = sigma / grid.reach
        self._noise, self._fraction = GridGaussian(fine), GaussianFraction(fine, key)
        self._ring = np.zeros((window if kept else 1, dimension), np.int64)
        self._steps = np.zeros(len(self._ring), np.int64)  # steps of the vectors in the ring
        self._low, self._high = np.empty(dimension, np.int64), np.empty(dimension)

    def at(self, step: int) -> Noise:
        self._low[:], self._high[:] = 0, 0.0
        first = max(1, step - self._window + 1)
        if len(self._ring) == self._window:
            wanted = np.arange(first, step + 1)
            for missing in wanted[self._steps[wanted % self._window] != wanted].tolist():
                self._draw(missing)
            back = step - self._steps
            inside = (back >= 0) & (back < self._window) & (self._steps > 0)
            weights = np.where(inside, self._coefficients[np.where(inside, back, 0)], 0)
            self._add(weights)
        else:
            for past in range(first, step + 1):
                self._draw(past)
                self._add(self._coefficients[[step - past]])
        return Noise(self._rounded_down(step), 1)

    def _draw(self, step: int) -> None:
        """Draw the noise of a step into its place in the ring."""
        place = step % len(self._ring)
        if self._steps[place] != step:
            self._steps[place] = 0  # the place is invalid until the draw is complete
            self._ring[place] = 0
            self._noise.add_to(self._ring[place], self._key.generator(step))
            self._steps[place] = step

    def _add(self, weights: Ints) -> None:
        runs = pool.even_runs(len(self._low), pool.available() if self._low.size > 4096 else 1)
        calls = [(self._ring, weights, *run, self._low, self._high) for run in runs]
        pool.run(add_weighted, calls)

    def _rounded_down(self, step: int) -> Ints:
        """The sum divided by 2^_BITS, rounded down; ``low`` has 64 bits, ``high`` the size."""
        beyond = np.rint((self._high - self._low) * 2.0**-64).astype(np.int64)
        whole = (beyond << (64 - _BITS)) + (self._low >> _BITS)
        gaps = (1 << _BITS) - (self._low & ((1 << _BITS) - 1))
        doubtful = np.flatnonzero(gaps < self._most_left_out)
        if doubtful.size:
            whole[doubtful] += self._filled(gaps[doubtful], step, doubtful)
        return whole

    def _filled(self, gaps: Ints, step: int, places: Ints) -> list[bool]:
        """Whether the omitted part, coefficients times fractions of X, fills the gap of a sum."""
        past = range(max(1, step - self._window + 1), step + 1)
        wholes = []
        for other in past:
            self._draw(other)
            wholes.append(self._ring[other % len(self._ring), places].tolist())
        terms = [(int(self._coefficients[step - other]), other) for other in past]
        return [
            self._fills(gap, place, terms, column)
            for gap, place, column in zip(
                gaps.tolist(), places.tolist(), zip(*wholes, strict=True), strict=True
            )
        ]

    def _fills(
        self, gap: int, place: int, terms: list[tuple[int, int]], wholes: tuple[int, ...]
    ) -> bool:
        most, count = sum(weight for weight, _ in terms), _FIRST_DIGITS
        while True:
            least = sum(
                weight * self._fraction.digits(count, whole, (step, place))
                for (weight, step), whole in zip(terms, wholes, strict=True)
            )
            if least >= gap << count:
                return True
            if least + most <= gap << count:
                return False
            count *= 2

    def noise_matrix(self, steps: int) -> Floats:
        band = self._coefficients[:steps] * (self._deviation / 2.0**COEFFICIENT_BITS)
        return toeplitz(np.pad(band, (0, steps - len(band))))
