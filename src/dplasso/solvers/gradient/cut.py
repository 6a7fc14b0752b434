"""A public number of nonzero weights."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dplasso.base import threads as pool
from dplasso.base.arrays import Floats, Ints
from dplasso.kernels import largest
from dplasso.solvers.exact_margins import MOST_GRAINS
from dplasso.solvers.gradient.conditioning import LARGEST_LEFT, Conditioning, MeanLength

Marks = NDArray[np.bool_]


class Cuts:
    """Cuts of weights in memory, outputs x columns, and the memory that they use again.

    A cut reads and writes a few numbers per column, in threads: to ask for new memory every time
    would take longer.

    Formal guarantees
    -----------------
    A cut is post-processing, a function of releases and public numbers: no cost. It does not depend
    on the number of threads.
    """

    def __init__(self, shape: tuple[int, int], threads: int) -> None:
        self._threads, self._width = threads, shape[1]
        self._sizes = np.empty(shape[0] * shape[1])
        self._tallies = np.empty((threads, largest.BINS), np.int64)
        self.left: Marks = np.empty(shape, np.bool_)  # which weights are left
        # The dampings and centres of the last conditioning and of the next one.
        self._rooms = [(np.empty(0), np.empty(0, np.int64)) for _ in range(2)]

    def cut(
        self,
        weights: Floats,
        gathered: Floats,
        count: int,
        conditioning: Conditioning,
        length: MeanLength,
    ) -> Conditioning:
        """Clear all but the ``count`` weights that move margins most, and what they gathered.

        A weight moves margins by its absolute value times the root of its column's mass. Of equal
        ones the first are kept, and those that are 0 never. Returns the conditioning of the columns
        that have any left, which keeps the mean length of rows; it is valid until the cut after the
        next one.
        """
        columns, damping = conditioning.columns, conditioning.damping
        width = self._width if columns is None else len(columns)
        runs = pool.even_runs(width, self._threads)
        sizes = self._sizes[: len(weights) * width].reshape(len(weights), width)
        above = self._above(sizes, weights, length.present, columns, count, runs)
        places = sizes.view(np.int64)  # the reaches are needed no longer where a column is listed
        state = (self.left, gathered, weights)
        pool.run(largest.drop, [(sizes, places, above, columns, *run, *state) for run in runs])
        facts = (self.left, columns, damping, (length.present, length.grains, MOST_GRAINS))
        found = pool.run(largest.list_left, [(*facts, *run, places[0]) for run in runs])
        counts, totals = np.array(found).T
        listed, (made, centre) = np.empty(counts.sum(), np.int64), self._room()
        parts = np.split(listed, np.cumsum(counts)[:-1])
        scale = (columns, damping, length.factor(int(totals.sum())), LARGEST_LEFT)
        pairs = zip(runs, parts, strict=True)
        pool.run(largest.narrow, [(places[0], *scale, *run, part, made) for run, part in pairs])
        return conditioning.narrowed(listed, made, centre)

    def _above(
        self,
        sizes: Floats,
        weights: Floats,
        present: Floats,
        columns: Ints | None,
        count: int,
        runs: list[tuple[int, int]],
    ) -> float:
        """Write all reaches to ``sizes``; returns a number that only the ``count`` largest exceed.

        Equal ones that are not among these, and are listed after them, are written as 0.
        """
        if not sizes.size:
            return 0.0
        shift, wanted = largest.SHIFTS[0], min(count, sizes.size)
        measured = (weights, present, columns, shift)
        tallies = self._tallies[: len(runs)]
        pairs = zip(runs, tallies, strict=True)
        pool.run(largest.reaches, [(*measured, *run, sizes, own) for run, own in pairs])
        chosen, wanted = largest.bin_of(tallies, wanted)
        pairs = zip(runs, tallies[:, chosen].tolist(), strict=True)
        calls = [(sizes, shift, chosen, own, *run) for run, own in pairs]
        searched = np.concatenate(pool.run(largest.in_bin, calls))
        for digit in largest.SHIFTS[1:]:
            counts = largest.tally(searched, digit)
            chosen, wanted = largest.bin_of(counts, wanted)
            place = (0, len(searched))
            searched = largest.in_bin(searched[None], digit, chosen, counts[0, chosen], *place)
        place = len(searched) - wanted
        least = float(np.partition(searched, place)[place])
        if least == 0.0:
            return 0.0
        wanted -= int(np.count_nonzero(searched > least))
        if wanted < np.count_nonzero(searched == least):
            self._leave_out(sizes, least, wanted, runs)
        return float(np.nextafter(least, 0.0))

    def _leave_out(
        self, sizes: Floats, least: float, wanted: int, runs: list[tuple[int, int]]
    ) -> None:
        """Keep the first ``wanted`` reaches that are ``least``, by output and then by column."""
        equal = np.array(pool.run(largest.count_equal, [(sizes, least, *run) for run in runs])).T
        before = np.concatenate(([0], np.cumsum(equal)[:-1])).reshape(equal.shape)
        kept = np.ascontiguousarray(np.clip(wanted - before, 0, equal).T)
        pairs = zip(runs, kept, strict=True)
        pool.run(largest.leave_out, [(sizes, least, own, *run) for run, own in pairs])

    def _room(self) -> tuple[Floats, Ints]:
        """Memory for dampings and a centre; the centre's is 0 where it is never written."""
        self._rooms.reverse()
        if not self._rooms[0][0].size:
            centre = pool.zeros(self._width, np.int64, self._threads)
            self._rooms[0] = (np.empty(self._width), centre)
        return self._rooms[0]


def largest_weights(
    weights: Floats, present: Floats, columns: Ints | None, count: int, threads: int
) -> Marks:
    """Mask of the weights, outputs x columns, that a cut to ``count`` of ``columns`` keeps.

    It may hold anything in other columns.

    >>> largest_weights(np.array([[2.0, 0.0, -3.0, 2.0, 1.0]]), np.ones(5), None, 2, threads=1)
    array([[ True, False,  True, False, False]])
    """
    width, cuts = weights.shape[1], Cuts(weights.shape, threads)
    whole = Conditioning.of(np.ones(width), np.zeros(width))
    given = replace(whole, columns=columns), MeanLength(present, 1.0, 1.0)
    cuts.cut(weights.copy(), np.zeros_like(weights), count, *given)
    return cuts.left
