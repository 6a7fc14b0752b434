"""A public number of nonzero weights."""

import numpy as np
from numpy.typing import NDArray

from dplasso.base import threads as pool
from dplasso.base.arrays import Floats, Ints
from dplasso.kernels import largest

SMALLEST = 5e-324  # the least number above 0
Marks = NDArray[np.bool_]
Piece = tuple[Floats, int, int]  # some of an array's numbers: from where to where


def largest_weights(
    weights: Floats, present: Floats, columns: Ints | None, count: int, threads: int
) -> Marks:
    """Mask of the ``count`` weights, outputs x columns, that move margins most, in ``columns``.

    A weight moves margins by its absolute value times the root of its column's mass. Of equal ones
    the first are taken, and those that are 0 never.

    Formal guarantees
    -----------------
    It is post-processing, a function of releases and public numbers: no cost. It does not depend on
    the number of threads.

    >>> largest_weights(np.array([[2.0, 0.0, -3.0, 2.0, 1.0]]), np.ones(5), None, 2, threads=1)
    array([[ True, False,  True, False, False]])
    """
    width = weights.shape[1] if columns is None else len(columns)
    sizes, found = np.empty((len(weights), width)), np.zeros(weights.shape, np.bool_)
    runs = pool.even_runs(width, -(-threads // len(weights)))
    places = [(k, *run) for k in range(len(weights)) for run in runs]
    reach = [(weights[k], present, columns, *run, sizes[k]) for k, *run in places]
    pool.run(largest.reaches, reach)
    pieces = [(sizes[k], first, last) for k, first, last in places]
    least, equal = _least(pieces, min(count, sizes.size))
    marks = zip(places, equal, strict=True)
    calls = [(sizes[k], least, own, columns, *run, found[k]) for (k, *run), own in marks]
    pool.run(largest.mark, calls)
    return found


def marked_columns(marks: Marks, columns: Ints | None, threads: int) -> Ints:
    """Those of ``columns`` in which any weight is marked, in their order.

    >>> marked_columns(np.array([[True, False, False], [True, False, True]]), None, threads=2)
    array([0, 2])
    """
    runs = pool.even_runs(marks.shape[1] if columns is None else len(columns), threads)
    ends = np.cumsum(pool.run(largest.count_marked, [(marks, columns, *run) for run in runs]))
    found = np.empty(ends[-1], np.int64)
    parts = np.split(found, ends[:-1])
    calls = [(marks, columns, *run, part) for run, part in zip(runs, parts, strict=True)]
    pool.run(largest.list_marked, calls)
    return found


def _least(pieces: list[Piece], count: int) -> tuple[float, list[int]]:
    """The least of the ``count`` largest numbers that are not 0, and how many equal ones of every
    piece are among them."""
    searched, wanted = pieces, count
    for shift in largest.SHIFTS:
        digit = [(sizes, shift, *run) for sizes, *run in searched]
        tallies = pool.run(largest.tally, digit)
        counts = np.sum(tallies, axis=0)
        reached = np.cumsum(counts[::-1])[::-1]  # numbers in a bin or above it
        chosen = int(np.flatnonzero(reached >= wanted)[-1])
        wanted -= int(reached[chosen] - counts[chosen])
        calls = [
            (sizes, shift, chosen, tally[chosen], *run)
            for (sizes, *run), tally in zip(searched, tallies, strict=True)
        ]
        searched = [(found, 0, len(found)) for found in pool.run(largest.in_bin, calls)]
    left = np.concatenate([numbers for numbers, *_ in searched])
    least = float(np.partition(left, len(left) - wanted)[len(left) - wanted])
    if least < SMALLEST:
        return SMALLEST, [last - first for _, first, last in pieces]
    wanted -= int(np.count_nonzero(left > least))
    if wanted == np.count_nonzero(left == least):
        return least, [last - first for _, first, last in pieces]
    equal = pool.run(largest.count_equal, [(sizes, least, *run) for sizes, *run in pieces])
    before = np.cumsum([0, *equal[:-1]])
    return least, np.clip(wanted - before, 0, equal).tolist()
