"""Noise of decaying buffers: the accuracy of a band with the memory and time of a few vectors.

The coefficients of a band, those of 1 / sqrt(1 - x), are nearly a sum of a few geometric sequences:
b_0 = 1 and b_k = sum over buffers of share (1 - 2^-shift)^(k - 1). Such a sum needs no history:
every buffer keeps one vector, loses 2^-shift of it per step, and adds a share of the step's draw
(Dvijotham et al., "Efficient and near-optimal noise generation", 2024).
"""

import functools
import math
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

from dplasso.base import threads as pool
from dplasso.base.arrays import Floats, Ints
from dplasso.kernels.buffered import FINE_BITS, draw_blocks, echo, responses
from dplasso.kernels.grid_gaussian import BLOCK, FIELDS
from dplasso.mechanisms.gaussian_cells import cells_of
from dplasso.mechanisms.noise_key import NoiseKey
from dplasso.streams.band import real_coefficients
from dplasso.streams.process import Arrays, Grid, Noise, NoiseProcess, Stretch, toeplitz

LONGEST = 1 << 24
# Bits of the largest standard deviation in grid units: buffers then overflow at 64 of their own.
NOISE_BITS = 36
# Numbers drawn at a time.
_MOST_DRAWS = 1 << 20
_POINTS = 400  # number of coefficients that shares are fitted to


class Echoes(NamedTuple):
    """The buffers of a window: how fast each decays, and its share of a draw."""

    shifts: Ints
    shares: Ints  # in units of 2^-FINE_BITS


@functools.lru_cache(maxsize=64)
def echoes(window: int) -> Echoes:
    """Buffers for ``window`` steps: every second shift up to that of half the window.

    Their error exceeds that of the band by 5 % at most, and by 1 % from a thousand steps on.

    >>> echoes(1024).shifts.tolist()
    [1, 3, 5, 7, 9]
    """
    if window == 1:
        return Echoes(np.empty(0, np.int64), np.empty(0, np.int64))
    slowest = max(1, round(math.log2(window)) - 1)
    shifts = np.arange(slowest, 0, -2, dtype=np.int64)[::-1].copy()
    back = np.unique(np.geomspace(1, window - 1, _POINTS).astype(np.int64))
    aims = real_coefficients(window)[back]
    powers = (1.0 - 2.0**-shifts) ** (back[:, None] - 1.0)
    shares, _ = nnls(powers / aims[:, None], np.ones(len(back)))
    return Echoes(shifts, np.rint(shares * 2.0**FINE_BITS).astype(np.int64))


@functools.lru_cache(maxsize=64)
def _norms(window: int) -> tuple[float, float]:
    """The 2-norm of the strategy's coefficients, and the 1-norm of those of 1 / b."""
    inverse, strategy = responses(*echoes(window), window)
    return math.sqrt(math.fsum(strategy**2)), math.fsum(np.abs(inverse))


def buffered_sensitivity(window: int, dimension: int, grid: Grid) -> float:
    """Sensitivity of the releases of ``window`` steps to one row, in standard deviations of a draw.

    Formal guarantees
    -----------------
    It is the 2-norm of the first ``window`` coefficients of 1 / ((1 - x) b(x)), plus the effect of
    rounding (see `BufferedNoise`): a step's means differ by up to
    |1 / b|_1 (1 + sum 2^(shift - FINE_BITS)) more grid units per number. Coefficients are computed
    to within a relative 2^-28.
    """
    strategy, inverse = _norms(window)
    rounding = inverse * (1.0 + float(np.sum(2.0 ** (echoes(window).shifts - FINE_BITS))))
    rounding *= math.sqrt(window) * math.sqrt(dimension) / grid.reach
    return (strategy + rounding) * (1.0 + 2.0**-28)


class _Place(NamedTuple):
    """The state of the noise after a step."""

    step: int
    buffers: Ints
    values: Ints  # the noise of that step


class BufferedNoise(NoiseProcess):
    """Noise n_t = X_t + floor(sum of buffers); ``sigma`` is that of X, in grid units.

    Formal guarantees
    -----------------
    - Neighbouring: one row of the stream differs, by at most Delta in the 2-norm. Rows may depend
      on earlier releases.
    - Cost: n_t = X_t + F_t(X_1, ..., X_(t-1)), F_t a function without randomness. An adversary who
      sees releases o_1, ..., o_(t-1) and guesses the rows knows X_1, ..., X_(t-1), so that o_t is
      one Gaussian release, whose means under two neighbouring streams differ by a vector d_t: costs
      of such steps add as squares, whatever the releases were. F_t is linear except for rounding
      down: without rounding d_t is the row's difference times coefficient t - i of
      1 / ((1 - x) b(x)). Rounding in one stream and not in the other moves the terms of F_t by less
      than 1 grid unit, and each buffer by less than 2^-FINE_BITS per step, which decays; inverting
      the buffers multiplies that by at most |1 / b|_1. `buffered_sensitivity` bounds the length of
      all d_t together while the row is one of the last ``window``; later ones are not bounded.
    - Exactness: o_t is an integer, so adding floor(X_t) to integers is post-processing of a release
      with the real X_t. Buffers would overflow at 64 standard deviations: all of the above holds to
      within 10^-800 in total variation.
    - Draws are ChaCha20 streams under one secret key, numbered by step and block: a step's noise is
      always the same. Steps before the last one requested are recomputed from the start.
    - Memory: one vector per buffer; the number of buffers is half of log2(window).
    """

    def __init__(
        self, dimension: int, window: int, sigma: float, grid: Grid, key: NoiseKey
    ) -> None:
        self._echoes, self._deviation = echoes(window), sigma / grid.reach
        self._cells, self._key = cells_of(sigma), key
        self._words = np.frombuffer(key.generator(0).bytes(32), "<u4").astype(np.uint32)
        self._dimension = dimension
        self._resumed: _Place | None = None
        self._now = self._beginning()

    def at(self, step: int) -> Noise:
        if step < self._now.step:
            known = self._resumed
            self._now = known if known and known.step <= step else self._beginning()
        while self._now.step < step:
            most = max(1, _MOST_DRAWS // self._dimension)
            self.ahead(self._now.step + 1, min(most, step - self._now.step))
        return Noise(self._now.values, 1)

    def ahead(self, first: int, count: int) -> Stretch:
        if first != self._now.step + 1:
            self.at(first - 1)
        draws = self._drawn(first, count)
        buffers = self._now.buffers.copy()
        echo(draws, buffers, *self._echoes)
        # One assignment: an interrupt leaves either the old state or the new one.
        self._now = _Place(first + count - 1, buffers, draws[-1].copy())
        return Stretch(draws, np.ones(count, np.int64))

    def state(self) -> Arrays:
        """The current state, which is as secret as the key."""
        step, buffers, values = self._now
        return {"buffers": buffers, "values": values, "step": np.array([step]), **self._table()}

    def resume(self, state: Arrays) -> None:
        """Continue from `state`."""
        for name, array in self._table().items():
            if not np.array_equal(state[name], array):
                raise ValueError("state has other buffers than this version makes; it cannot go on")
        buffers, values = state["buffers"], state["values"]
        for array, like in zip((buffers, values), self._beginning()[1:], strict=True):
            if array.shape != like.shape or array.dtype != like.dtype:
                raise ValueError("state has buffers of another shape; it cannot go on")
        (step,) = state["step"].tolist()
        self._now = _Place(int(step), buffers, values)
        self._resumed = self._now

    def _table(self) -> Arrays:
        return {"shifts": self._echoes.shifts, "shares": self._echoes.shares}

    def _beginning(self) -> _Place:
        buffers = np.zeros((len(self._echoes.shifts), self._dimension), np.int64)
        return _Place(0, buffers, np.zeros(self._dimension, np.int64))

    def _drawn(self, first: int, count: int) -> Ints:
        draws = np.zeros((count, self._dimension), np.int64)
        places = count * -(-draws.shape[1] // BLOCK)
        runs = pool.even_runs(places, pool.available() if draws.size > 4 * BLOCK else 1)
        pool.run(self._fill, [(draws, first, *run) for run in runs])
        return draws

    def _fill(self, draws: Ints, first: int, start: int, end: int) -> None:
        """Draw some blocks; undecided draws use independent random bits."""
        undecided = np.empty((min(BLOCK, draws.shape[1]), FIELDS), np.int64)
        blocks = -(-draws.shape[1] // BLOCK)
        while start < end:
            args: tuple[Any, ...] = (self._cells.table, self._words, first, draws)
            place, found = draw_blocks(*args, start, end, undecided)
            step, block = divmod(place, blocks)
            for row in undecided[:found]:
                column = block * BLOCK + int(row[0])
                bits = self._key.generator(first + step, column)
                draws[step, column] += self._cells.decided(row, bits)
            start = place + 1

    def noise_matrix(self, steps: int) -> Floats:
        back = np.arange(max(0, steps - 1))
        kept = 1.0 - 2.0 ** -self._echoes.shifts.astype(np.float64)
        shares = self._echoes.shares * 2.0**-FINE_BITS
        column = np.concatenate(([1.0], (shares * kept ** back[:, None]).sum(axis=1)))[:steps]
        return toeplitz(column) * self._deviation
