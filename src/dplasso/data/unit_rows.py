"""Rows of length 1, column by column: what a solver sees that bounds rows and not entries."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dplasso.base import threads
from dplasso.data.columns import ColumnMatrix
from dplasso.kernels import unit_rows as kernels

Scaling = Literal["presence", "unit"]

# Entries are whole numbers up to this one, in units of their row's largest; fewer where a row may
# have so many columns that their squares would not add up in 63 bits (`whole_for`).
WHOLE = 2**20
# No entry is cut at this bound: rows are scaled by what is in them. It fits single precision.
NO_BOUND = 1e30
# Covers the rounding of a row's length and of its inverse.
_SAFE = 1.0 - 2.0**-40


@dataclass(frozen=True)
class UnitRows:
    """A column-compressed matrix of whole numbers; row i times ``units[i]`` has length 1 at most.

    ``values`` is None where every stored entry is 1. A row without entries has unit 0.

    Formal guarantees
    -----------------
    A row's numbers and its unit are functions of that row alone, to the last bit: they come from
    largest values and sums of whole numbers, which no other row and no number of threads can
    change. The exact 2-norm of the whole numbers times the unit is at most 1, for any number of
    columns: whole numbers are small enough for their squares to add up without overflow. There is
    no release and no cost here.

    >>> rows = UnitRows.of([[3.0, 0.0], [5.0, 5.0]])
    >>> rows.values is None, rows.units.round(3).tolist()
    (True, [1.0, 0.707])
    """

    indptr: NDArray[Any]
    indices: NDArray[Any]
    values: NDArray[Any] | None
    units: NDArray[np.float64]
    shape: tuple[int, int]
    largest: int  # bound on the size of the whole numbers, public: `whole_for`, or 1

    @classmethod
    def of(cls, X: Any, scaling: Scaling = "presence") -> "UnitRows":
        """Check ``X`` (sparse or dense, or a `ColumnMatrix`) and scale its rows.

        "presence" makes every entry that is not 0 a 1 first; "unit" keeps entries in proportion,
        to a millionth of their row's largest, and with 2^23 columns or more to 1 / `whole_for`.
        """
        if scaling not in ("presence", "unit"):
            raise ValueError(f"scaling must be 'presence' or 'unit', got {scaling!r}")
        matrix = X if isinstance(X, ColumnMatrix) else ColumnMatrix.of(X, NO_BOUND)
        values, entries = matrix.values, matrix.entries
        largest = 1 if scaling == "presence" else whole_for(matrix.shape[1])
        if values is not None:
            values = values[:entries]
            values = _present(values) if scaling == "presence" else _whole(matrix, values, largest)
        elif scaling == "unit":
            # As if another row had other values: what a row is made of must not depend on others.
            values = np.full(entries, largest, np.int32)
        squares = _by_rows(kernels.squares, matrix, values, np.int64)
        with np.errstate(divide="ignore"):
            units = np.where(squares > 0, _SAFE / np.sqrt(squares), 0.0)
        return cls(matrix.indptr, matrix.indices, values, units, matrix.shape, largest)


def whole_for(columns: int) -> int:
    """The largest power of two, up to WHOLE, of which ``columns`` squares add up to less than 2^63.

    A row has one entry per column at most (`ColumnMatrix`): no sum of its squares can overflow.

    >>> whole_for(2**23 - 1) == WHOLE, whole_for(2**23) == WHOLE // 2, whole_for(2**31 - 1)
    (True, True, 65536)
    """
    most = max((2**63 - 1) // columns, 1)
    return min(WHOLE, 1 << (most.bit_length() - 1) // 2)


def _present(values: NDArray[Any]) -> NDArray[np.int8] | None:
    """1 for every entry that is not 0; None where all are 1."""
    return (values != 0).astype(np.int8) if kernels.count_zeros(values) else None


def _whole(matrix: ColumnMatrix, values: NDArray[Any], most: int) -> NDArray[np.int32]:
    """Entries over their row's largest, as whole numbers up to ``most``."""
    largest = _by_rows(kernels.largest, matrix, values, np.float64)
    with np.errstate(divide="ignore", over="ignore"):
        # A row of entries next to nothing is taken for an empty one.
        factors = np.where(largest > 1e-250, most / largest, 0.0)
    whole = np.empty(len(values), np.int32)
    runs = threads.even_runs(len(values), threads.available())
    calls = [(matrix.indices, values, factors, *run, whole) for run in runs]
    threads.run(kernels.whole, calls)
    return whole


def _by_rows(kernel: Any, matrix: ColumnMatrix, values: Any, kind: Any) -> NDArray[Any]:
    """Sums or largest values by row, parts of the entries side by side."""
    runs = threads.even_runs(matrix.entries, threads.available())
    parts = [np.zeros(matrix.shape[0], kind) for _ in runs]
    calls = [(matrix.indices, values, *run, part) for run, part in zip(runs, parts, strict=True)]
    threads.run(kernel, calls)
    merge = np.maximum if kernel is kernels.largest else np.add
    for part in parts[1:]:
        merge(parts[0], part, out=parts[0])
    return parts[0]
