"""Arrays as bytes in numpy's file format, with a writer and a reader for plain arrays only.

numpy's own reader evaluates the header as a Python literal, and allocates memory for its shape.
"""

import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MAGIC = b"\x93NUMPY\x01\x00"
_DTYPE = re.compile(r"\|[biu]1|<[iu][248]|<f[248]|<U[1-9][0-9]{0,6}")
_HEADER = re.compile(
    r"\{'descr': '([^']{3,11})', 'fortran_order': False, "
    r"'shape': \(((?:[0-9]{1,18}, ){0,31}(?:[0-9]{1,18},?)?)\), \} *\n"
)
_LAST_CHARACTER = 0x10FFFF


def to_bytes(array: NDArray[Any]) -> bytes:
    """The array in format version 1.0, little-endian and row by row."""
    dtype = array.dtype.newbyteorder("<")
    if not _DTYPE.fullmatch(dtype.str):
        raise ValueError(
            f"has dtype {array.dtype}; "
            "convert it to numbers of at most 64 bits, booleans or fixed-width text"
        )
    header = f"{{'descr': '{dtype.str}', 'fortran_order': False, 'shape': {array.shape}, }}"
    header += " " * (-(len(_MAGIC) + 2 + len(header) + 1) % 64) + "\n"
    if not _HEADER.fullmatch(header):
        raise ValueError("has more than 32 dimensions; reshape it")
    size = len(header).to_bytes(2, "little")
    return _MAGIC + size + header.encode("ascii") + array.astype(dtype).tobytes()


def from_bytes(data: bytes) -> NDArray[Any]:
    """Read what `to_bytes` wrote. Memory is allocated only for entries that exist."""
    start = len(_MAGIC) + 2
    end = start + int.from_bytes(data[len(_MAGIC) : start], "little")
    header = _HEADER.fullmatch(data[start:end].decode("ascii"))
    if not data.startswith(_MAGIC) or header is None or not _DTYPE.fullmatch(header[1]):
        raise ValueError("is not in the form that dplasso writes")
    dtype = np.dtype(header[1])
    shape = tuple(int(size) for size in re.findall("[0-9]+", header[2]))
    if math.prod(shape) * dtype.itemsize != len(data) - end:
        raise ValueError("does not have the size its shape says")
    entries = np.frombuffer(data, dtype, offset=end)
    _check(entries)
    array: NDArray[Any] = entries.reshape(shape).astype(dtype.newbyteorder("="))
    return array


def _check(entries: NDArray[Any]) -> None:
    """Reject invalid bytes of booleans and characters."""
    if entries.dtype.kind == "b" and np.any(entries.view(np.uint8) > 1):
        raise ValueError("has booleans other than 0 and 1")
    if entries.dtype.kind == "U" and np.any(entries.view("<u4") > _LAST_CHARACTER):
        raise ValueError("has characters outside of Unicode")
