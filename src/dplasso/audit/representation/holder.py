"""The interface of everything that takes rows and releases numbers."""

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
    """Silence warnings about the audit's own rows and seeds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class Holder(ABC):
    """One configuration of something that releases numbers about rows.

    ``named`` is its name, ``columns`` and ``rows`` are the shape of the rows it is given, and
    ``bound`` is the approximate bound on their entries. ``own_bound`` is the bound with which the
    library's own containers hold rows for it, or None where it does not accept them.
    """

    named: str
    columns: int
    rows: int
    bound = 1.0
    own_bound: Any = None

    @abstractmethod
    def released(self, X: Any, y: Any, seed: int) -> dict[str, bytes]:
        """Everything that is released about the rows, with noise fixed by the seed."""

    @abstractmethod
    def held(self, X: Any, y: Any) -> Floats:
        """Rows and labels as they enter the sums, as one row of numbers per row."""


def as_bytes(released: Any) -> bytes:
    """The exact bytes of a released number, array or statement."""
    if isinstance(released, dict):
        return json.dumps(released, sort_keys=True, default=str).encode()
    array: NDArray[Any] = released.toarray() if sp.issparse(released) else np.asarray(released)
    return f"{array.dtype} {array.shape} ".encode() + array.tobytes()


def named(parameters: dict[str, Any]) -> str:
    """A short name for some parameters."""
    return ", ".join(
        f"{name}={'one per column' if np.ndim(value) else value}"
        for name, value in parameters.items()
    )
