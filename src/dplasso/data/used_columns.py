"""The used columns among very many, with memory for those only."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Columns = NDArray[np.int64]
# With fewer columns than this beyond the entries, an array with one number per column is cheap.
MANY = 1 << 20


def has_unused(X: Any) -> bool:
    """Whether arrays with one number per column would be far larger than sparse rows."""
    return bool(sp.issparse(X) and X.shape[1] > MANY + X.nnz)


def weights_at(weights: sp.csr_array, columns: Columns) -> sp.csr_array:
    """Weights (outputs x columns) of some columns, which must be increasing."""
    places, known = places_in(weights.indices, columns)
    outputs = np.repeat(np.arange(weights.shape[0]), np.diff(weights.indptr))[known]
    shape = (weights.shape[0], len(columns))
    return sp.csr_array((weights.data[known], (outputs, places[known])), shape=shape)


def places_in(wanted: NDArray[Any], columns: Columns) -> tuple[Columns, NDArray[np.bool_]]:
    """Positions of wanted columns among the increasing ``columns``, and whether each is found."""
    if len(columns) == 0:
        return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.bool_)
    places = np.minimum(np.searchsorted(columns, wanted), len(columns) - 1)
    return places, columns[places] == wanted
