"""The check of a sparse matrix before it is converted or read by compiled code.

scipy converts between formats in compiled code that trusts its arrays: an index outside the shape
makes it read or write outside of them. Code that receives a matrix calls `sound` first, and uses
its result. Arrays that another thread changes meanwhile are not protected.
"""

from collections.abc import Callable, Iterable
from itertools import chain
from numbers import Real
from operator import index
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dplasso.base import threads
from dplasso.kernels import structure as kernels

# Fewer indices than this are checked by one thread.
_LARGE = 1 << 20
# Most rows or columns of a shape, since memory is proportional to them.
MOST = (1 << 31) - 1
_REAL = "fiub"  # kinds of numbers an entry may be


def sound(X: Any, name: str = "X") -> Any:
    """A sparse ``X`` as a plain csr, csc or coo array that is sound; other objects unchanged.

    csr, csc and coo share memory with ``X``, and keep repeated and unordered entries; bsr and lil
    become csr, dia and dok become coo. Sound means: two dimensions, real numbers, as many pointers
    as the shape needs, which start at 0, never decrease and end within the entries, and every index
    within the shape. The flags of ``X`` about order and repetition are ignored.

    Formal guarantees
    -----------------
    An error names the fault, but no number of the matrix. There is no release here.

    >>> X = sp.csr_matrix([[0.0, 2.0]])
    >>> X.indices[0] = 5
    >>> sound(X)
    Traceback (most recent call last):
    ...
    ValueError: X has column indices outside its shape; rebuild the sparse matrix
    """
    if isinstance(X, np.ma.MaskedArray):
        raise ValueError(f"{name} is a masked array; fill or remove its masked entries first")
    if not sp.issparse(X):
        return X
    if X.ndim != 2:
        raise ValueError(f"{name} must have two dimensions, got {X.ndim}; reshape it first")
    return _checked(X, name)


def sound_parts(kind: str, shape: Any, name: str = "X", **parts: Any) -> Any:
    """The same for the arrays of a format, before a matrix is made of them.

    >>> two = np.array([0, 1])
    >>> sound_parts("csr", (1, 2), data=np.array([3.0]), indices=two[1:], indptr=two).toarray()
    array([[0., 3.]])
    """
    return _checked(SimpleNamespace(format=kind, shape=shape, **parts), name)


def _checked(X: Any, name: str) -> Any:
    check = _FORMATS.get(X.format)
    if check is None:
        _refuse(name, "a sparse format that is not known")
    try:
        return check(X, _shape_of(X, name), name)
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError):
        pass  # raised below instead: scipy's or numpy's message may quote the matrix
    _refuse(name, "parts that are not those of its format")


def array_of(X: Any, name: str = "X") -> Any:
    """A dense ``X`` as an array; a sparse one unchanged."""
    if sp.issparse(X):
        return X
    try:
        return np.asarray(X)
    except Exception:  # any kind: objects that look like arrays may raise anything
        pass  # numpy's message may contain the number of rows, or quote them
    raise ValueError(f"{name} must be a table of numbers; give as many entries in every row")


def is_real(kind: np.dtype[Any]) -> bool:
    """Whether entries of a dtype are real numbers."""
    return kind.kind in _REAL


def in_known_kind(entries: NDArray[Any]) -> NDArray[Any]:
    """Entries of a kind that scipy knows. It has no half precision; single precision holds it."""
    kind = np.dtype(np.float32) if entries.dtype == np.float16 else entries.dtype.newbyteorder("=")
    return entries.astype(kind, copy=False)


def _compressed(X: Any, shape: tuple[int, int], name: str) -> sp.csr_array | sp.csc_array:
    by_rows = X.format == "csr"
    indptr, indices = _whole(X.indptr, name), _whole(X.indices, name)
    data = _values(X.data, 1, name)
    major, minor = shape if by_rows else shape[::-1]
    entries = _pointed(indptr, major, min(len(indices), len(data)), name)
    indices, data = indices[:entries], data[:entries]
    _check_within(indices, minor, "column" if by_rows else "row", name)
    make = sp.csr_array if by_rows else sp.csc_array
    return make((data, indices, indptr), shape=shape)


def _coordinates(X: Any, shape: tuple[int, int], name: str) -> sp.coo_array:
    places = [_whole(one, name) for one in X.coords]
    data = _values(X.data, 1, name)
    if len(places) != 2 or {len(one) for one in places} != {len(data)}:
        _refuse(name, "not one row and one column number for every entry")
    for one, limit, what in zip(places, shape, ("row", "column"), strict=True):
        _check_within(one, limit, what, name)
    found = sp.coo_array(shape, dtype=data.dtype)  # scipy would check given arrays again
    found.coords, found.data = tuple(places), data
    return found


def _blocks(X: Any, shape: tuple[int, int], name: str) -> sp.csr_array:
    indptr, indices = _whole(X.indptr, name), _whole(X.indices, name)
    data = _values(X.data, 3, name)
    high, wide = data.shape[1:]
    if high < 1 or wide < 1 or shape[0] % high or shape[1] % wide:
        _refuse(name, "blocks that do not fit its shape")
    entries = _pointed(indptr, shape[0] // high, min(len(indices), len(data)), name)
    indices, data = indices[:entries], data[:entries]
    _check_within(indices, shape[1] // wide, "column", name)
    return sp.bsr_array((data, indices, indptr), shape=shape, blocksize=(high, wide)).tocsr()


def _diagonals(X: Any, shape: tuple[int, int], name: str) -> sp.coo_array:
    offsets, data = _whole(X.offsets, name), _values(X.data, 2, name)
    if len(offsets) != len(data) or len(np.unique(offsets)) < len(offsets):
        _refuse(name, "not one offset, different from the others, for every diagonal")
    width = min(data.shape[1], shape[1])
    places = np.nonzero(data[:, :width])
    rows = places[1] - offsets[places[0]]
    inside = (rows >= 0) & (rows < shape[0])
    coords = (rows[inside], places[1][inside])
    parts = SimpleNamespace(coords=coords, data=data[:, :width][places][inside])
    return _coordinates(parts, shape, name)


def _lists(X: Any, shape: tuple[int, int], name: str) -> sp.csr_array:
    columns, values = X.rows, X.data
    if not len(columns) == len(values) == shape[0]:
        _refuse(name, "not one list of columns and one of entries for every row")
    lengths = _listed(map(len, columns), np.int64, len(columns), name)
    if not np.array_equal(lengths, _listed(map(len, values), np.int64, len(values), name)):
        _refuse(name, "not one column number for every entry")
    indptr = np.concatenate(([0], np.cumsum(lengths)))
    entries = int(indptr[-1])
    indices = _listed(chain.from_iterable(columns), np.int64, entries, name)
    data = _values(_numbers(chain.from_iterable(values), X.dtype, name), 1, name)
    _check_within(indices, shape[1], "column", name)
    return sp.csr_array((data, indices, indptr), shape=shape)


def _keys(X: Any, shape: tuple[int, int], name: str) -> sp.coo_array:
    keys = list(X.keys())
    if any(len(key) != 2 for key in keys):
        _refuse(name, "not one row and one column number for every entry")
    data = _values(_numbers(X.values(), X.dtype, name), 1, name)
    places = _listed(chain.from_iterable(keys), np.int64, 2 * len(keys), name).reshape(-1, 2)
    parts = SimpleNamespace(coords=(places[:, 0], places[:, 1]), data=data)
    return _coordinates(parts, shape, name)


_FORMATS: dict[str, Callable[[Any, tuple[int, int], str], Any]] = {
    "csr": _compressed,
    "csc": _compressed,
    "coo": _coordinates,
    "bsr": _blocks,
    "dia": _diagonals,
    "lil": _lists,
    "dok": _keys,
}


def _shape_of(X: Any, name: str) -> tuple[int, int]:
    rows, columns = (index(size) for size in X.shape)
    if not (0 <= rows <= MOST and 0 <= columns <= MOST):
        _refuse(name, f"a shape that is not between 0 and {MOST:,}")
    return rows, columns


def _whole(part: Any, name: str) -> NDArray[Any]:
    """Indices or pointers in the form for compiled code: a vector of 32 or 64 bits."""
    if not isinstance(part, np.ndarray) or part.ndim != 1 or part.dtype.kind not in "iu":
        _refuse(name, "indices that are not vectors of whole numbers")
    if part.dtype not in (np.int32, np.int64):
        if part.size and part.max() > np.iinfo(np.int64).max:
            _refuse(name, "indices outside its shape")
        part = part.astype(np.int64)
    return np.ascontiguousarray(part.view(np.ndarray))


def _numbers(items: Iterable[Any], kind: Any, name: str) -> NDArray[Any]:
    """A vector of Python numbers; numpy would read None as NaN, and any text as True."""
    held = list(items)
    if not all(issubclass(one, Real | np.bool_) for one in set(map(type, held))):
        _refuse(name, "entries that are not real numbers")
    return _listed(held, kind, len(held), name)


def _listed(items: Any, kind: Any, count: int, name: str) -> NDArray[Any]:
    """A vector of ``count`` Python objects."""
    try:
        return np.fromiter(items, kind, count)
    except ValueError:
        pass
    _refuse(name, "lists of other lengths or kinds than those of its format")


def _values(part: Any, dimensions: int, name: str) -> NDArray[Any]:
    """Entries in the form for compiled code."""
    if not isinstance(part, np.ndarray) or part.ndim != dimensions:
        _refuse(name, "entries that do not have the dimensions of its format")
    if isinstance(part, np.ma.MaskedArray):
        raise ValueError(f"{name} has a masked array; fill or remove its masked entries first")
    if not is_real(part.dtype):
        raise ValueError(f"{name} must hold real numbers, got {part.dtype}; encode it first")
    if part.dtype == np.bool_:
        part = part.view(np.int8)  # repeated entries are then added, like those of other types
    return np.ascontiguousarray(in_known_kind(part.view(np.ndarray)))


def _pointed(indptr: NDArray[Any], count: int, most: int, name: str) -> int:
    """The number of entries that the pointers cover."""
    if len(indptr) != count + 1 or indptr[0] != 0 or not kernels.never_falls(indptr):
        _refuse(name, "pointers that do not fit its shape")
    if indptr[-1] > most:
        _refuse(name, "pointers that lead beyond its entries")
    return int(indptr[-1])


def _check_within(indices: NDArray[Any], limit: int, what: str, name: str) -> None:
    if not len(indices):
        return
    parts = threads.available() if len(indices) > _LARGE else 1
    unsigned = indices.view(np.uint32 if indices.dtype == np.int32 else np.uint64)
    calls = [(unsigned, *run) for run in threads.even_runs(len(indices), parts)]
    if max(threads.run(kernels.largest, calls)) >= limit:
        _refuse(name, f"{what} indices outside its shape")


def _refuse(name: str, what: str) -> NoReturn:
    raise ValueError(f"{name} has {what}; rebuild the sparse matrix")
