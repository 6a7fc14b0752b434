"""Convert rows of a stream, from matrices or dicts of features, to the form that learners use."""

import math
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import scipy.sparse as sp

from dplasso.base.silence import raise_alone
from dplasso.data.merging import merged
from dplasso.kernels import stream_rows
from dplasso.online.stream_learner import Compressed

ROW_MAPS = ("unit", "as_is")
_COMPLAINTS = {
    stream_rows.NOT_FINITE: "rows hold NaN or infinity; remove or impute those rows first",
    stream_rows.OUT_OF_RANGE: "rows hold a column outside the weights; declare all columns",
    stream_rows.OUT_OF_ORDER: "rows must name their columns once each, in rising order; sort them",
}


class RowForm:
    """How rows are read: a public map, the same for learning and predicting.

    ``unit`` scales rows to length 1, and ``intercept`` appends a column. Without ``names`` of the
    columns, the names of features in dicts are hashed to ``columns`` buckets.

    Formal guarantees
    -----------------
    Each output row is a function of the corresponding input row alone. That function drops names
    that are not declared.
    """

    def __init__(
        self, columns: int, *, unit: bool, intercept: bool, names: Sequence[str] | None = None
    ) -> None:
        self.columns, self._unit, self._intercept = columns, unit, intercept
        self._places = None if names is None else {name: k for k, name in enumerate(names)}

    @property
    def width(self) -> int:
        """Number of columns, including that of the intercept."""
        return self.columns + self._intercept

    def of_matrix(self, X: Any) -> Compressed:
        """Convert a sparse or dense matrix whose kind and width were checked."""
        matrix = merged(X, "csr")
        return self._made(matrix.indptr, matrix.indices, matrix.data.astype(np.float64, copy=False))

    def of_parts(self, starts: Any, places: Any, values: Any) -> Compressed:
        """Convert rows that are already row-compressed; a row may repeat a column."""
        shape = (len(starts) - 1, self.columns)
        return self.of_matrix(sp.csr_array((values, places, starts), shape=shape))

    def of_dicts(self, rows: Sequence[Mapping[Any, Any]]) -> Compressed:
        """Convert features by name: numbers stay, a text becomes "name=text" with the value 1.

        None and NaN mean that a feature is missing, as when a scaler has not seen any row yet.
        """
        starts = np.zeros(len(rows) + 1, np.int64)
        places: list[int] = []
        values: list[float] = []
        for k, row in enumerate(rows):
            for name, value in row.items():
                if isinstance(value, str):
                    name, value = f"{name}={value}", 1.0
                place, number = self._place(name), _number(value)
                if place is not None and not math.isnan(number):
                    places.append(place)
                    values.append(number)
            starts[k + 1] = len(places)
        return self.of_parts(starts, np.array(places, np.int32), np.array(values, np.float64))

    def _place(self, name: Any) -> int | None:
        if self._places is not None:
            return self._places.get(name)
        try:
            text = str(name).encode()
        except UnicodeEncodeError:  # its message quotes the text
            raise_alone(
                ValueError(
                    "names and texts of features must be valid Unicode, got half of a surrogate "
                    "pair; correct them"
                )
            )
        digest = blake2b(text, digest_size=8).digest()
        return int.from_bytes(digest, "little") % self.columns

    def _made(self, starts: Any, places: Any, values: Any) -> Compressed:
        finding = stream_rows.finding(starts, places, values, self.columns)
        if finding != stream_rows.FINE:
            raise ValueError(_COMPLAINTS[finding])
        made: Compressed = stream_rows.prepared(
            starts, places, values, self.columns, self._unit, self._intercept
        )
        return made

    def shares(self) -> float:
        """Factor that turns weights into coefficients of rows, scaled to length 1 or not."""
        return math.sqrt(0.5) if self._unit and self._intercept else 1.0


def _number(value: Any) -> float:
    try:
        return math.nan if value is None else float(value)
    except (TypeError, ValueError):
        kind = type(value).__name__
        raise_alone(ValueError(f"features must be numbers or texts, got {kind}; convert them"))
    except OverflowError:
        raise_alone(ValueError("features must be finite, got a number too large; remove it"))


def joined(first: Compressed, second: Compressed) -> Compressed:
    """Concatenate two sets of rows."""
    starts = np.concatenate([first[0], second[0][1:] + first[0][-1]])
    return starts, np.concatenate([first[1], second[1]]), np.concatenate([first[2], second[2]])


def tail(rows: Compressed, first: int) -> Compressed:
    """Copy the rows from number ``first`` onwards."""
    start = rows[0][first]
    return rows[0][first:] - start, rows[1][start:].copy(), rows[2][start:].copy()
