"""Maps of rows: no entry within its bound, however large, becomes one that a fit refuses."""

import numpy as np
import pytest
import scipy.sparse as sp

from dplasso.data import ColumnBounds
from dplasso.data.row_maps import row_view

LARGEST = float(np.finfo(np.float64).max)


@pytest.mark.parametrize("rows", ["presence", "sqrt", "blend"])
@pytest.mark.parametrize("bound", [1e-300, 1.0, 1e39, LARGEST])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_entries_of_any_size_are_mapped_to_finite_ones_within_the_bound(rows, bound, kind):
    """An error would tell of the row that has them."""
    X = kind(np.array([[LARGEST, -LARGEST, 0.0], [bound, 1e-308, 5e-324]]))
    seen, held = row_view(X, rows, ColumnBounds(bound, None))
    dense = seen.toarray() if sp.issparse(seen) else seen
    assert np.all(np.abs(dense) <= held.largest)
