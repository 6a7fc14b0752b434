"""Sparse matrices and labels from the files of ``scipy.sparse.save_npz`` and ``numpy.save``.

scipy's reader makes a matrix of arrays that it hardly checks, and numpy allocates memory for the
shape that a header states. Here every array is compared with its size in the file before memory is
allocated, and a matrix is made of checked parts only. The arrays take exactly the memory that the
archive's directory states as their decompressed size; if less is available, they are rejected.
"""

import math
import os
import zipfile
from os import PathLike, fspath
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from dplasso.base import memory
from dplasso.data.structure import sound_parts

_Path = str | PathLike[str]
_PARTS = {
    "csr": ("data", "indices", "indptr"),
    "csc": ("data", "indices", "indptr"),
    "bsr": ("data", "indices", "indptr"),
    "dia": ("data", "offsets"),
    "coo": ("data", "row", "col"),
}
_BLOCK = 1 << 20  # bytes decompressed at a time
# The methods that numpy and scipy write. Python unpacks the others without a limit.
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_LONGEST_HEADER = 10_000  # numpy's own limit: the header's text is evaluated as a literal


def read_npz(path: _Path) -> Any:
    """The matrix of a file, as a sound csr, csc or coo array (`dplasso.data.structure`)."""
    try:
        with zipfile.ZipFile(path) as archive:
            parts = _parts_of(archive)
    except memory.TooLargeError:
        raise
    # The file's content decides which errors the readers raise, and some errors quote the file.
    except Exception as error:
        kind = type(error).__name__
    else:
        return sound_parts(**parts, name=fspath(path))
    raise ValueError(
        f"{fspath(path)} could not be read ({kind}); write it with scipy.sparse.save_npz"
    )


def read_npy(path: _Path) -> NDArray[Any]:
    """The array of a file."""
    try:
        with open(path, "rb") as file:
            return _array(file, os.fstat(file.fileno()).st_size)
    except (FileNotFoundError, memory.TooLargeError):
        raise
    except Exception as error:
        kind = type(error).__name__
    raise ValueError(f"{fspath(path)} could not be read ({kind}); write it with numpy.save")


def _parts_of(archive: zipfile.ZipFile) -> dict[str, Any]:
    members = archive.infolist()
    sizes = {member.filename: member.file_size for member in members}
    if len(sizes) != len(members):
        raise ValueError("two arrays have one name")
    if any(member.compress_type not in _METHODS for member in members):
        raise ValueError("an array is packed as scipy never does")

    def part(name: str) -> NDArray[Any]:
        with archive.open(f"{name}.npy") as file:
            return _array(file, sizes[f"{name}.npy"])

    kind = part("format").item()
    kind = kind.decode("ascii") if isinstance(kind, bytes) else kind
    found: dict[str, Any] = {name: part(name) for name in _PARTS[kind]}
    if kind == "coo":
        found["coords"] = (found.pop("row"), found.pop("col"))
    rows, columns = part("shape").tolist()
    return {"kind": kind, "shape": (rows, columns), **found}


def _array(file: IO[bytes], size: int) -> NDArray[Any]:
    """The array of a file of ``size`` bytes, header included."""
    version = npy.read_magic(file)
    header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
    shape, by_columns, kind = header(file, max_header_size=_LONGEST_HEADER)
    start = file.tell()
    if kind.hasobject or start + math.prod(shape) * kind.itemsize != size:
        raise ValueError("the array has not the size that its header states")
    memory.check_private_size(
        size - start, "an array of a numpy file", "convert the rows to a column store"
    )
    content = np.empty(size - start, np.uint8)
    view, done = content.data, 0
    while done < len(view):
        done += (read := file.readinto(view[done : done + _BLOCK]))  # type: ignore[attr-defined]
        if not read:
            raise ValueError("the array ends early")
    return content.view(kind).reshape(shape, order="F" if by_columns else "C")
