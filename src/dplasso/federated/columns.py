"""A party's own rows: entries as whole numbers, places of rows, and what each may still give."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from dplasso.federated.plan import ENTRY, SUM_FACTOR
from dplasso.kernels import hadamard

Ints = NDArray[np.int64]


class Columns:
    """Entries in units of the bound over `ENTRY`, clipped and cut towards 0, by columns.

    ``left`` is what a row's budget still holds, in units of a squared entry over 64: whole numbers,
    so that no rounding lets a row give more than its budget. What a budget does not cover is cut,
    not left out: half an entry still tells its sign.
    """

    def __init__(self, X: Any, x_bound: float, row_budget: float) -> None:
        matrix = sp.csc_array(X)
        if not matrix.has_canonical_format:
            # An entry given in parts would count beyond its bound.
            matrix = matrix.copy()
            matrix.sum_duplicates()
        if matrix.ndim != 2 or not np.issubdtype(matrix.dtype, np.number):
            raise ValueError("X must be a table of numbers, rows x features")
        values = matrix.data.astype(np.float64)
        if not np.isfinite(values).all():
            raise ValueError("X must not hold NaN or infinity; replace them first")
        self.n_rows, self.n_features = matrix.shape
        self._indptr, self._indices = matrix.indptr, matrix.indices
        self._values = np.trunc(np.clip(values / x_bound, -1.0, 1.0) * ENTRY).astype(np.int32)
        self.left = np.full(self.n_rows, int(row_budget * (ENTRY * SUM_FACTOR) ** 2), np.int64)

    def scores(self, weights: Ints, candidates: Ints) -> Ints:
        """Sums of entry times row weight, exact, down each candidate."""
        out = np.empty(len(candidates), np.int64)
        hadamard.column_scores(self._indptr, self._indices, self._values, weights, candidates, out)
        return out

    def column(self, feature: int) -> Ints:
        """One column, dense."""
        part = slice(self._indptr[feature], self._indptr[feature + 1])
        dense = np.zeros(self.n_rows, np.int64)
        dense[self._indices[part]] = self._values[part]
        return dense

    def for_sum(self, column: Ints) -> Ints:
        """What of a column the rows' budgets cover for its sum; they are charged."""
        return self._charged(column, 1)

    def for_sketch(self, column: Ints, centre: int) -> Ints:
        """The same for its sketch about a released centre."""
        return self._charged(column - centre, SUM_FACTOR)

    def _charged(self, values: Ints, weight: int) -> Ints:
        """Values cut to what is left; one of them costs the square of ``weight`` times itself."""
        root = np.sqrt(self.left).astype(np.int64)
        root -= root * root > self.left  # a root in floating point may be one too many
        most = root // weight
        given = np.clip(values, -most, most)
        self.left -= (given * weight) ** 2
        return given


def labels_of(y: ArrayLike, y_bound: float, n_rows: int) -> Ints:
    """Labels in units of the bound over `ENTRY`, clipped."""
    numbers = np.asarray(y, np.float64)
    if numbers.shape != (n_rows,):
        raise ValueError("y must be one number for each row of X")
    if not np.isfinite(numbers).all():
        raise ValueError("y must not hold NaN or infinity; remove those rows first")
    return np.trunc(np.clip(numbers / y_bound, -1.0, 1.0) * ENTRY).astype(np.int64)


def checked_rows(identifiers: Sequence[object], n_rows: int) -> Sequence[object]:
    """As many identifiers as rows."""
    if len(identifiers) != n_rows:
        raise ValueError("identifiers must be one for each row of X")
    return identifiers
