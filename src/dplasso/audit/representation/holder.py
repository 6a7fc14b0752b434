"""What is asked of everything that takes rows in and releases numbers."""

import json
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dplasso.base.arrays import Floats


@contextmanager
def quietly() -> Iterator[None]:
    """No warnings about rows and seeds that are the audit's own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class Holder(ABC):
    """One configuration of something that releases numbers about rows.

    ``named`` says which, ``columns`` and ``rows`` are the shape of the rows it is given, and
    ``bound`` is about how large their entries may be. ``own_bound`` is the bound by which the
    library's own containers hold rows for it, or None where it does not take them.
    """

    named: str
    columns: int
    rows: int
    bound = 1.0
    own_bound: Any = None

    @abstractmethod
    def released(self, X: Any, y: Any, seed: int) -> dict[str, bytes]:
        """All that is released about the rows, the noise being fixed by the seed."""

    @abstractmethod
    def held(self, X: Any, y: Any) -> Floats:
        """Rows and labels as sums are made of them, one row of numbers per row."""


def as_bytes(released: Any) -> bytes:
    """A released number, array or statement, to the last bit."""
    if isinstance(released, dict):
        return json.dumps(released, sort_keys=True, default=str).encode()
    array: NDArray[Any] = released.toarray() if sp.issparse(released) else np.asarray(released)
    return f"{array.dtype} {array.shape} ".encode() + array.tobytes()


def named(parameters: dict[str, Any]) -> str:
    """Parameters in a few words."""
    return ", ".join(
        f"{name}={'one per column' if np.ndim(value) else value}"
        for name, value in parameters.items()
    )
