"""Margins and labels of rows, and every sum over them; the only part that sees data."""

from typing import Any, Protocol

import numpy as np

from dplasso.base import threads as pool
from dplasso.base.arrays import Floats, Ints
from dplasso.kernels import calibration as kernels
from dplasso.solvers.correction.bins import LENGTHS, MARGINS
from dplasso.solvers.correction.plan import GRAINS
from dplasso.solvers.correction.walk import Place


class MarginSums(Protocol):
    """Exact sums over margins and labels, wherever the rows are; `MarginRows` has them in memory.

    Formal guarantees
    -----------------
    Those of `MarginRows`, to the last bit: every implementation returns the same integers.
    """

    def counts(self, unit: float) -> Ints:
        """Rows by label and bin of margins."""

    def slopes(self, limit: float, spreads: Floats) -> Ints:
        """Slopes of the loss at several spreads."""

    def sums(self, at: Place) -> Ints:
        """Sums at the current correction."""


class MarginRows:
    """The margins that a released model gives the rows of its fit, with their labels.

    Formal guarantees
    -----------------
    ``margins``, outputs x rows, must be such that a row's margins are a function of that row,
    public numbers and releases alone, to the last bit. Then sums are exact and of integer vectors,
    one per row, and the same holds for a row's vector. Its exact 2-norm is at most

    - GRAINS in `counts` for two classes, sqrt(2) GRAINS for more: a row adds GRAINS to one count,
      or to one count of lengths and one of classes. Vectors of two rows differ by at most sqrt(2)
      times that, because none has a negative entry;
    - `sensitivity_of` in `sums`, and the root of twice the number of spreads, in units, in `slopes`
      (`dplasso.kernels.calibration`).

    The vector of a row of weight w, below 1, is at most w times as long: terms and counts are
    multiplied by it and rounded towards 0. A person whose rows' weights add up to k thus moves a
    sum by at most k times these lengths.
    """

    def __init__(
        self, margins: Floats, labels: Floats, threads: int, weights: Floats | None = None
    ) -> None:
        self._margins, self._labels, self._weights = margins, labels, weights
        self._runs = pool.even_runs(len(labels), threads)

    def counts(self, unit: float) -> Ints:
        """How many rows have each label and a margin in each bin; of more than two classes, how
        many have margins of a length in each bin, and how many each label."""
        classes = len(self._margins)
        if classes == 1:
            places = np.searchsorted(MARGINS.ends * unit, self._margins[0])
            return self._counted(places + len(MARGINS) * (self._labels > 0.0), 2 * len(MARGINS))
        places = np.searchsorted(LENGTHS.ends * unit, _lengths(self._margins))
        by_label = self._counted(self._labels, classes)
        return np.concatenate([self._counted(places, len(LENGTHS)), by_label])

    def slopes(self, limit: float, spreads: Floats) -> Ints:
        """Slopes of the loss of more than two classes, at several spreads of cut margins."""
        facts = (self._margins, self._labels, self._weights, spreads, limit)
        calls = [(*facts, *run) for run in self._runs]
        found: Ints = np.sum(pool.run(kernels.class_slopes, calls), axis=0)
        return found

    def sums(self, at: Place) -> Ints:
        """The sums of `dplasso.kernels.calibration` at the current correction."""
        scale = at.spread / at.limit
        kernel: Any = kernels.class_sums
        margins, shifts = self._margins, at.shifts
        if len(margins) == 1:
            kernel, margins, shifts = kernels.two_class_sums, margins[0] - at.centre, shifts[0]
        facts = (margins, self._labels, self._weights, scale, shifts, at.limit)
        found: Ints = np.sum(pool.run(kernel, [(*facts, *run) for run in self._runs]), axis=0)
        return found

    def _counted(self, places: Any, size: int) -> Ints:
        """Grains of the rows at each place; a row's grains are rounded down."""
        places = np.asarray(places, np.int64)
        if self._weights is None:
            return np.bincount(places, minlength=size).astype(np.int64) * GRAINS
        found = np.zeros(size, np.int64)
        np.add.at(found, places, (self._weights * GRAINS).astype(np.int64))
        return found


def _lengths(margins: Floats) -> Floats:
    """Lengths of margins less their mean.

    Classes are added one after the other: numpy's sums are in an order that depends on the number
    of rows.
    """
    total, squares = np.zeros(margins.shape[1]), np.zeros(margins.shape[1])
    with np.errstate(all="ignore"):  # a warning would depend on the rows
        for of_class in margins:
            total += of_class
        for of_class in margins:
            squares += (of_class - total / len(margins)) ** 2
        return np.sqrt(squares)
