"""Convert rows of a stream, from matrices or dicts of features, to the form that learners use."""

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dplasso.base.arrays import Floats
from dplasso.base.silence import raise_alone
from dplasso.base.wording import ParameterError
from dplasso.data.merging import merged
from dplasso.kernels import stream_rows
from dplasso.online.stream_learner import Compressed

ROW_MAPS = ("unit", "as_is")
_TEXTS = {str}
PLAIN = (bool, int, float, str)  # types of labels that are remembered by value
_UNCHANGING = {float, int, bool}  # types of values that nobody can change in place
_DOUBLE = np.dtype(np.float64)
_NO_ROW = (None, None, None)
_MADE_AGAIN = ("facts", "_met", "_met_rows", "_last")
_MOST_MET = 1 << 17  # names that are remembered, one by one and in rows
_COMPLAINTS = {
    stream_rows.NOT_FINITE: "rows hold NaN or infinity; remove or impute those rows first",
    stream_rows.OUT_OF_RANGE: "rows hold a column outside the weights; declare all columns",
    stream_rows.OUT_OF_ORDER: "rows must name their columns once each, in rising order; sort them",
}


class RowForm:
    """How rows are read: a public map, the same for learning and predicting.

    ``unit`` scales rows to length 1, and ``intercept`` appends a column, whose length in a scaled
    row is ``share``. Without ``names`` of the
    columns, the names of features in dicts are hashed to ``columns`` buckets.

    Formal guarantees
    -----------------
    Each output row is a function of the corresponding input row alone. That function drops names
    that are not declared.
    """

    def __init__(
        self,
        columns: int,
        *,
        unit: bool,
        intercept: bool,
        share: float = math.sqrt(0.5),
        names: Sequence[str] | None = None,
    ) -> None:
        self.columns, self._unit, self._intercept, self._share = columns, unit, intercept, share
        self._places = None if names is None else {name: k for k, name in enumerate(names)}
        self.facts = self._facts()
        self._remember()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in _MADE_AGAIN}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({"_share": math.sqrt(0.5), **state})  # earlier files do not name it
        self.facts = self._facts()
        self._remember()

    def _remember(self) -> None:
        """Begin to remember names and rows."""
        declared = self._places is not None
        self._met = MetNames(self._place, hashed=not declared)
        # Rows of declared names, which need no further check: names that are equal are the same.
        self._met_rows = self._met.rows if declared else {}
        # The latest row, a copy of it, and its entries: a row is often predicted, then learned.
        self._last: tuple[Any, Any, Any] = _NO_ROW

    def _facts(self) -> tuple[int, bool, float, float]:
        """Columns, whether rows are scaled, and the lengths of their entries and intercepts."""
        return self.columns, self._unit, *self.shares()

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
            for place, number in self._entries(row):
                if place >= 0 and not math.isnan(number):
                    places.append(place)
                    values.append(number)
            starts[k + 1] = len(places)
        return self.of_parts(starts, np.array(places, np.int32), np.array(values, np.float64))

    def entries(self, row: Mapping[Any, Any]) -> "Entries":
        """Return the entries of one row of features by name; `of_dicts` makes the same of it."""
        last, copy, known = self._last
        if last is row and copy == row:
            return known  # type: ignore[no-any-return]  # predicted just now, unchanged since
        plain = type(row) is dict and _UNCHANGING.issuperset(map(type, row.values()))
        try:
            if plain:
                values = np.fromiter(row.values(), _DOUBLE, len(row))
            else:  # texts and None are no numbers, and raise a TypeError
                values = np.frombuffer(array("d", row.values()))
            places = self._met_rows.get(tuple(row))
            entries = self._met.places(row) if places is None else places, values
        except (TypeError, ValueError, OverflowError):
            found = self._entries(row)
            places = np.array([place for place, _ in found], np.int64)
            return places, np.array([number for _, number in found])
        if plain:
            self._last = (row, dict(row), entries)
        return entries

    def of_entries(self, entries: "Entries") -> Compressed:
        """Convert the entries of one row; NaN means that an entry is missing."""
        found, made = stream_rows.one_row(*entries, *self.facts)
        check_fine(found)
        row: Compressed = made
        return row

    def _entries(self, row: Mapping[Any, Any]) -> list[tuple[int, float]]:
        return [self._entry(name, value) for name, value in row.items()]

    def _entry(self, name: Any, value: Any) -> tuple[int, float]:
        if not isinstance(value, str):
            return self._place(name), _number(value)
        place = self._place(f"{name}={value}")
        if place < 0 and self._place(name) >= 0:
            raise ParameterError(
                "features under a name in {feature_names} must be numbers, got a text; declare "
                "'name=text' for each text instead, or declare {n_features} to have them hashed"
            )
        return place, 1.0

    def _place(self, name: Any) -> int:
        """The column of a name; -1 if it is not declared."""
        if self._places is not None:
            return self._places.get(name, -1)
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
        found = stream_rows.finding(starts, places, values, self.columns)
        check_fine(found)
        made: Compressed = stream_rows.prepared(starts, places, values, *self.facts)
        return made

    def shares(self) -> tuple[float, float]:
        """Factors that turn weights into coefficients of rows, and into intercepts."""
        if not self._intercept:
            return 1.0, 0.0
        if not self._unit:
            return 1.0, 1.0
        if self._share == math.sqrt(0.5):
            return self._share, self._share  # to the last bit what earlier streams had
        return math.sqrt(1.0 - self._share**2), self._share


class MetNames:
    """Places of names that were met before, so that each name is looked up or hashed once.

    Names that are equal may have different texts, such as 1 and True, and hash to different places:
    only plain texts are remembered. Rows usually have the same names in the same order, so whole
    rows of names are remembered, too. Memory is bounded: what does not fit is forgotten.

    Formal guarantees
    -----------------
    What is remembered changes the time that a row takes, and nothing else. It is neither copied nor
    saved with a `RowForm`, since names that occurred may be private.
    """

    def __init__(self, place: Callable[[Any], int], *, hashed: bool) -> None:
        self._place, self._hashed = place, hashed
        self._names: dict[Any, int] = {}
        self.rows: dict[tuple[Any, ...], NDArray[np.int64]] = {}
        self._room = _MOST_MET

    def places(self, row: Mapping[Any, Any]) -> NDArray[np.int64]:
        """The places of the names of a row, in their order."""
        if self._hashed and set(map(type, row)) != _TEXTS:
            return np.array([self._place(name) for name in row], np.int64)
        names = tuple(row)
        found = self.rows.get(names)
        if found is None:
            found = np.array([self._place_of(name) for name in names], np.int64)
            if len(names) <= self._room:
                self._room -= len(names)
                self.rows[names] = found
        return found

    def _place_of(self, name: Any) -> int:
        found = self._names.get(name)
        if found is None:
            if len(self._names) >= _MOST_MET:
                self._names.clear()
            found = self._names[name] = self._place(name)
        return found


# Places and values of one row in any order; entries at negative places are ignored.
Entries = tuple[NDArray[np.int64], Floats]


def one_row_of(X: Any, columns: int) -> Entries | None:
    """The entries of a plain matrix of one row, dense or row-compressed; None for all else."""
    if type(X) is np.ndarray:
        if X.shape != (1, columns) or X.dtype != np.float64:
            return None
        return np.arange(columns), np.ascontiguousarray(X[0])
    if type(X) not in (sp.csr_array, sp.csr_matrix) or X.shape != (1, columns):
        return None
    parts: tuple[Any, ...] = (X.indptr, X.indices, X.data)
    if any(type(part) is not np.ndarray or part.ndim != 1 for part in parts):
        return None
    starts, places, values = parts
    whole = places.dtype in (np.int32, np.int64) and values.dtype == np.float64
    if not whole or starts.tolist() != [0, len(places)] or len(places) != len(values):
        return None
    inside = not len(places) or (places.min() >= 0 and places.max() < columns)
    return (places.astype(np.int64), np.ascontiguousarray(values)) if inside else None


def one_label_of(y: Any) -> Any:
    """The label in a plain list or array of one; None for all else."""
    if type(y) is np.ndarray and y.shape == (1,) and y.dtype.kind in "bifU":
        return y.tolist()[0]
    return y[0] if type(y) is list and len(y) == 1 and type(y[0]) in PLAIN else None


def check_fine(found: int) -> None:
    """Raise the error of a finding about rows."""
    if found != stream_rows.FINE:
        raise ValueError(_COMPLAINTS[found])


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
