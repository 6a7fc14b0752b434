"""The typical size of the entries of a row."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dplasso.base import threads
from dplasso.data.columns import ColumnMatrix
from dplasso.data.unit_rows import NO_BOUND
from dplasso.kernels import row_medians as kernels


def entries_of(X: Any) -> sp.csc_array:
    """The entries of ``X``, sparse, dense or a `ColumnMatrix`, checked, sorted and merged."""
    matrix = X if isinstance(X, ColumnMatrix) else ColumnMatrix.of(X, NO_BOUND)
    return matrix.sparse()


def row_medians(entries: sp.csc_array) -> NDArray[np.float64]:
    """The lower median of the absolute values of each row's entries; empty rows are omitted.

    Formal guarantees
    -----------------
    A row's number is the absolute value of one of its entries, whatever the other rows are. There
    is no release and no cost here.

    >>> row_medians(entries_of([[3.0, 0.0, -4.0], [0.0, 0.0, 0.0], [0.0, 0.0, 2.0]])).tolist()
    [3.0, 2.0]
    """
    medians = medians_of_all(entries)
    return medians[medians > 0.0]


def medians_of_all(entries: sp.csc_array) -> NDArray[np.float64]:
    """The same with a number for every row, which is -1 for an empty one."""
    rows = entries.tocsr()
    indptr, medians = rows.indptr.astype(np.int64), np.empty(rows.shape[0])
    runs = threads.balanced_runs(indptr, threads.worth(int(indptr[-1])))
    threads.run(kernels.row_medians, [(indptr, rows.data, *run, medians) for run in runs])
    return medians
