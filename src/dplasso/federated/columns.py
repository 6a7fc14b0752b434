"""The rows of a party: entries as integers, and what each row may still release."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from dplasso.base.arrays import Ints
from dplasso.data.merging import merged
from dplasso.data.structure import array_of, sound
from dplasso.federated.count_plan import ENTRY
from dplasso.federated.plan import SUM_FACTOR
from dplasso.federated.terms import MOST_ROWS
from dplasso.kernels import hadamard

_REAL = "biuf"  # numpy kinds that a table may hold


class Columns:
    """Columns of entries in units of the bound over `ENTRY`, clipped and rounded towards 0.

    ``left`` is the rest of each row's budget, in units of a squared entry over 64. It is an
    integer, so that rounding never lets a row release more than its budget. An entry that the
    budget does not cover is cut, not left out: half an entry still shows its sign.
    """

    def __init__(self, X: Any, x_bound: float, row_budget: float) -> None:
        matrix = table_of(X)
        values = matrix.data
        if not np.isfinite(values).all():
            raise ValueError("X must not hold NaN or infinity; replace them first")
        self.n_rows, self.n_features = matrix.shape
        self._indptr, self._indices = matrix.indptr, matrix.indices
        if self.n_rows > MOST_ROWS:
            raise ValueError(
                f"X has more than {MOST_ROWS} rows, whose scores could overflow; use fewer"
            )
        self._values = _in_units(values, x_bound).astype(np.int32)
        self.left = np.full(self.n_rows, int(row_budget * (ENTRY * SUM_FACTOR) ** 2), np.int64)

    @property
    def content(self) -> tuple[NDArray[Any], ...]:
        """All arrays from which releases are computed."""
        return self._indptr, self._indices, self._values

    def scores(self, weights: Ints, candidates: Ints) -> Ints:
        """Return the exact sum of entry times row weight for each candidate."""
        out = np.empty(len(candidates), np.int64)
        hadamard.column_scores(self._indptr, self._indices, self._values, weights, candidates, out)
        return out

    def column(self, feature: int) -> Ints:
        """Return one column, dense."""
        part = slice(self._indptr[feature], self._indptr[feature + 1])
        dense = np.zeros(self.n_rows, np.int64)
        dense[self._indices[part]] = self._values[part]
        return dense

    def for_sum(self, column: Ints) -> Ints:
        """Cut a column to what the rows' budgets cover for its sum, and charge them."""
        return self._charged(column, 1)

    def for_sketch(self, column: Ints, centre: int) -> Ints:
        """Do the same for its sketch about a released centre."""
        return self._charged(column - centre, SUM_FACTOR)

    def _charged(self, values: Ints, weight: int) -> Ints:
        """Cut values to the budgets that are left. A value v costs (``weight`` * v)^2."""
        root = np.sqrt(self.left).astype(np.int64)
        root -= root * root > self.left  # the floating-point root may be one too large
        most = root // weight
        given = np.clip(values, -most, most)
        self.left -= (given * weight) ** 2
        return given


def labels_of(y: ArrayLike, y_bound: float, n_rows: int) -> Ints:
    """Return labels in units of the bound over `ENTRY`, clipped."""
    numbers = np.asarray(y)
    if numbers.shape != (n_rows,) or numbers.dtype.kind not in _REAL:
        raise ValueError("y must be one number for each row of X")
    if not np.isfinite(numbers).all():
        raise ValueError("y must not hold NaN or infinity; remove those rows first")
    return _in_units(numbers.astype(np.float64), y_bound).astype(np.int64)


def table_of(X: Any) -> sp.csc_array:
    """Return any table of numbers as columns of doubles, with one value per cell."""
    given = array_of(sound(X))
    if given.ndim != 2 or given.dtype.kind not in _REAL:
        raise ValueError("X must be a table of numbers, rows x features")
    # Repeated cells of a sparse matrix, taken one by one, would exceed the bound.
    return sp.csc_array(merged(given, "csc").astype(np.float64))


def _in_units(values: NDArray[np.float64], bound: float) -> NDArray[np.float64]:
    """Clip values, and return them in units of the bound over `ENTRY`, rounded towards 0."""
    clipped = np.clip(values, -bound, bound)
    units: NDArray[np.float64] = np.trunc(np.clip(clipped / bound, -1.0, 1.0) * ENTRY)
    return units
