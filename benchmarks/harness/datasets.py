"""Data for the benchmarks: real sets where they are at hand, generated shapes everywhere.

Real sets are read from the folder named by DPLASSO_DATA, or from ../shared/data beside the
repository: one folder a set with X.npz (scipy, row-compressed) and y.npy (-1 or +1). A set that is
not there is left out, and the table says so.
"""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numba import njit

from harness import ROOT

REAL = ("news20_rebuilt", "url_subset", "reuters21578_usa", "imdb_uni")


FOLDER = "DPLASSO_DATA"  # the variable that names the folder


def folder() -> Path:
    return Path(os.environ.get(FOLDER, ROOT.parent / "shared" / "data"))


def real(name: str) -> tuple[sp.csc_array, np.ndarray] | None:
    """A real set, column-compressed, with labels 0 and 1; None where it is not at hand."""
    place = folder() / name
    if not (place / "X.npz").exists():
        return None
    X = sp.csc_array(sp.load_npz(place / "X.npz"))
    return X, (np.load(place / "y.npy") > 0).astype(np.float64)


def halves(name: str) -> tuple[sp.csr_array, np.ndarray, sp.csr_array, np.ndarray] | None:
    """A random 80 % of a real set's rows, their labels, the other rows and theirs."""
    data = real(name)
    if data is None:
        return None
    X, y = sp.csr_array(data[0]).astype(np.float32), data[1]
    order = np.random.default_rng(0).permutation(len(y))
    train, test = np.split(order, [int(0.8 * len(y))])
    return X[train], y[train], X[test], y[test]


KDDA = (8_407_752, 20_216_830, 305_000_000)  # rows, columns, entries


def kdda_like() -> tuple[sp.csc_array, np.ndarray]:
    """The shape of KDDA, four columns nearly full; generated once, and kept in the folder of
    temporary files."""
    return _kept("kdda", KDDA[:2], lambda: text_like(*KDDA, full=4))


def _kept(
    name: str, shape: tuple[int, int], make: Callable[[], tuple[sp.csc_array, np.ndarray]]
) -> tuple[sp.csc_array, np.ndarray]:
    """0/1 data from files, or made and written there."""
    place = Path(tempfile.gettempdir()) / f"dplasso-benchmarks-{name}"
    if not place.exists():
        X, y = make()
        made = Path(tempfile.mkdtemp(dir=place.parent))
        for part, array in (("indptr", X.indptr), ("indices", X.indices), ("y", y)):
            np.save(made / f"{part}.npy", array)
        made.rename(place)
        return X, y
    indptr, indices, y = (np.load(place / f"{part}.npy") for part in ("indptr", "indices", "y"))
    return _of_ones(shape, indptr, indices), y


def _of_ones(shape: tuple[int, int], indptr: np.ndarray, indices: np.ndarray) -> sp.csc_array:
    """A matrix whose entries are all 1."""
    X = sp.csc_array(shape, dtype=np.int8)
    X.indptr, X.indices, X.data = indptr, indices, np.ones(len(indices), np.int8)
    return X


def text_like(
    rows: int,
    columns: int,
    entries: int,
    *,
    full: int = 0,
    seed: int = 0,
    ranks: tuple[int, int] = (5, 20_000),
) -> tuple[sp.csc_array, np.ndarray]:
    """0/1 data whose columns fill by Zipf's law, in random order; ``full`` of them nearly full.

    Labels follow a logistic model of 200 columns of ``ranks``: the same ranks and weights for the
    same seed, however many columns there are.
    """
    rng = np.random.default_rng(seed)
    truth = np.random.default_rng((seed, 1))
    lengths = _zipf_lengths(rows, columns, entries, full)
    rank = rng.permutation(columns)
    lengths = lengths[rank]
    indptr = np.concatenate(([0], np.cumsum(lengths)))
    indices = np.empty(indptr[-1], np.int32)
    _fill(indptr, indices, rows, rng)
    place = np.empty(columns, np.int64)
    place[rank] = np.arange(columns)
    margins = np.zeros(rows)
    informative = np.arange(ranks[0], min(ranks[1], columns))
    for column in place[truth.choice(informative, min(200, len(informative)), replace=False)]:
        margins[indices[indptr[column] : indptr[column + 1]]] += 3.0 * truth.normal()
    y = truth.random(rows) < 1.0 / (1.0 + np.exp(np.median(margins) - margins))
    if indptr[-1] < 2**31:
        indptr = indptr.astype(np.int32)
    return _of_ones((rows, columns), indptr, indices), y.astype(np.float64)


def _zipf_lengths(rows: int, columns: int, entries: int, full: int) -> np.ndarray:
    """Column lengths min(0.9 rows, c / rank), at least 1, that add up to about ``entries``."""
    rank = np.arange(1, columns + 1)
    low, high = 1e-9 * rows, 100.0 * rows
    for _ in range(80):
        c = np.sqrt(low * high)
        total = np.maximum(np.minimum(0.9 * rows, c / rank), 1.0)[full:].sum() + full * 0.97 * rows
        low, high = (c, high) if total < entries else (low, c)
    lengths = np.maximum(np.minimum(0.9 * rows, c / rank), 1.0).astype(np.int64)
    lengths[:full] = int(0.97 * rows)
    return lengths


@njit(cache=True)
def _fill(indptr, indices, rows, rng):  # type: ignore[no-untyped-def]
    """Distinct random rows in order, column by column."""
    for column in range(indptr.size - 1):
        start, wanted = indptr[column], indptr[column + 1] - indptr[column]
        if 20 * wanted > rows:
            left = wanted
            for row in range(rows):
                if rng.random() * (rows - row) < left:
                    indices[start + wanted - left] = row
                    left -= 1
        else:
            kept = 0
            while kept < wanted:
                for k in range(kept, wanted):
                    indices[start + k] = np.int32(rng.random() * rows)
                chosen = indices[start : start + wanted]
                chosen.sort()
                kept = 1
                for k in range(1, wanted):
                    if chosen[k] != chosen[k - 1]:
                        chosen[kept] = chosen[k]
                        kept += 1
