"""Rows of a stream, from matrices and from dicts of features, in the form that learners take."""

import math
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import scipy.sparse as sp

from dplasso.data.merging import merged
from dplasso.kernels import stream_rows
from dplasso.online.stream_learner import Compressed

ROWS = ("unit", "as_is")
_COMPLAINTS = {
    stream_rows.NOT_FINITE: "rows hold NaN or infinity; remove or impute those rows first",
    stream_rows.OUT_OF_RANGE: "rows hold a column outside the weights; declare all columns",
    stream_rows.OUT_OF_ORDER: "rows must name their columns once each, in rising order; sort them",
}


class RowForm:
    """How rows are read: a public map, the same for learning and predicting.

    Parameters
    ----------
    columns : of a matrix; buckets, where dicts are hashed.
    unit : whether rows are scaled to length 1.
    intercept : whether there is one; it is the last column of what is made.
    names : of the columns, for dicts; without them names of features are hashed.

    Formal guarantees
    -----------------
    Each row that is made is a function of the one row given. Names that are not declared are left
    out, which is part of that function.
    """

    def __init__(
        self, columns: int, *, unit: bool, intercept: bool, names: Sequence[str] | None = None
    ) -> None:
        self.columns, self._unit, self._intercept = columns, unit, intercept
        self._places = None if names is None else {name: k for k, name in enumerate(names)}

    @property
    def width(self) -> int:
        """Columns with the intercept's."""
        return self.columns + self._intercept

    def of_matrix(self, X: Any) -> Compressed:
        """Rows of a matrix, sparse or dense, that was checked for its kind and width."""
        matrix = merged(X, "csr")
        return self._made(matrix.indptr, matrix.indices, matrix.data.astype(np.float64, copy=False))

    def of_parts(self, starts: Any, places: Any, values: Any) -> Compressed:
        """Rows that are row-compressed already; a column may come more than once."""
        shape = (len(starts) - 1, self.columns)
        return self.of_matrix(sp.csr_array((values, places, starts), shape=shape))

    def of_dicts(self, rows: Sequence[Mapping[Any, Any]]) -> Compressed:
        """Rows of features by name: numbers as they are, texts as "name=text" with the value 1.

        None and NaN say that a feature is not there, as where a scaler has seen no row yet.
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
        except UnicodeEncodeError:  # which quotes the text
            raise ValueError(
                "names and texts of features must be valid Unicode, got half of a surrogate pair; "
                "correct them"
            ) from None
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
        """By which weights are multiplied to be coefficients of rows, scaled to length 1 or not."""
        return math.sqrt(0.5) if self._unit and self._intercept else 1.0


def _number(value: Any) -> float:
    try:
        return math.nan if value is None else float(value)
    except (TypeError, ValueError):
        kind = type(value).__name__
        raise ValueError(f"features must be numbers or texts, got {kind}; convert them") from None
    except OverflowError:
        raise ValueError("features must be finite, got a number too large; remove it") from None


def joined(first: Compressed, second: Compressed) -> Compressed:
    """The rows of both."""
    starts = np.concatenate([first[0], second[0][1:] + first[0][-1]])
    return starts, np.concatenate([first[1], second[1]]), np.concatenate([first[2], second[2]])


def tail(rows: Compressed, first: int) -> Compressed:
    """Rows from number ``first`` on, in memory of their own."""
    start = rows[0][first]
    return rows[0][first:] - start, rows[1][start:].copy(), rows[2][start:].copy()
