"""Real sets as streams: rows in a random order, columns hashed where they are many."""

import numpy as np
import scipy.sparse as sp

from harness import datasets


def in_random_order(name: str, most: int | None = None) -> tuple[sp.csr_array, np.ndarray] | None:
    """Rows and labels (0 and 1) in an order of no meaning; None where the set is not at hand."""
    found = datasets.real(name)
    if found is None:
        return None
    order = np.random.default_rng(0).permutation(found[0].shape[0])[:most]
    X = sp.csr_array(found[0]).astype(np.float64)[order]
    return X, found[1][order].astype(np.int64)


def hashed(X: sp.csr_array, buckets: int) -> sp.csr_array:
    """Columns thrown into so many, by a rule that reads no rows."""
    places = np.random.default_rng(1).integers(0, buckets, X.shape[1])
    found = sp.csr_array((X.data, places[X.indices], X.indptr), shape=(X.shape[0], buckets))
    found.sum_duplicates()
    return found
