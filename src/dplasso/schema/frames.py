"""Frames as columns of cells: pandas, polars, pyarrow tables, and dicts of lists.

A frame chooses the type of a column from all its rows, and so would pyarrow for a list of Python
values. `Cells` undoes that for the types of Arrow; values of Python are turned into text one by
one.
"""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dplasso.base.silence import raise_alone
from dplasso.base.wording import ParameterError
from dplasso.data.row_chunks import RowChunk
from dplasso.schema.cells import (
    EXACT,
    decimal_text,
    double_text,
    has_cells,
    is_bytes,
    pa,
    value_kind,
    without_blanks,
)
from dplasso.schema.encoding import Refuse, encoded, kept_texts, labels_of, people_of
from dplasso.schema.feature_space import FeatureSpace
from dplasso.schema.frame_columns import check_name, frame_rows, names_of, selected
from dplasso.schema.schema import Schema
from dplasso.schema.unmatched import watched

_MISSING = ("NoneType", "NAType", "NaTType")


def encode_frame(
    space: FeatureSpace, frame: Any, labelled: bool, refuse: Refuse | None = None
) -> RowChunk:
    """The features, labels and people of a frame's rows; ``refuse`` raises errors about rows."""
    reads = _reader(space.schema, frame)
    return encoded(space, reads, frame_rows(frame), labelled, refuse or _refuse)


def encode_rows(space: FeatureSpace, frame: Any) -> sp.csr_array:
    """The features of a frame's rows as a sparse matrix."""
    (chunk,) = watched(space, [encode_frame(space, frame, labelled=False)])
    kind = sp.get_index_dtype(maxval=max(space.size, chunk.rows, chunk.entries))
    parts = (chunk.values, chunk.indices.astype(kind), chunk.indptr.astype(kind))
    return sp.csr_array(parts, shape=(chunk.rows, space.size))


def split(schema: Schema, frame: Any) -> tuple[Any, NDArray[Any] | None, NDArray[Any] | None]:
    """The features of a frame, its labels and its people; see `Schema.split`."""
    reads, y, groups = _reader(schema, frame), None, None
    if schema.target is not None:
        labels, classes = labels_of(schema, reads(schema.target), _refuse), schema.labels.classes
        y = labels if classes is None else np.array(classes)[labels.astype(np.intp)]
    if schema.person is not None:
        groups = people_of(schema.person, reads(schema.person), _refuse)
    return selected(frame, list(schema.features)), y, groups


def _reader(schema: Schema, frame: Any) -> Callable[[str], Any]:
    names_of(frame)  # rejects anything but a frame

    def read(name: str) -> Any:
        check_name(frame, name)
        try:
            column = _with_cells(_arrow(frame[name]))
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            # The message may quote cells.
            raise_alone(
                ParameterError(
                    "column {name!r} of {X} must hold numbers and texts in UTF-8, or dates, one "
                    "per cell, and no floating-point numbers of 16 digits or more, which are "
                    "rounded; got {kind}; convert it first",
                    name=name,
                    kind=_kind_of(frame[name]),
                )
            )
        return without_blanks(column, kept_texts(schema, name))

    return read


def _refuse(row: int, why: str) -> NoReturn:
    raise ValueError(f"row {row + 1} of the frame {why}")


def _kind_of(column: Any) -> str:
    """What a column is called whose cells cannot be read, without its parts and values."""
    kind = getattr(column, "type", None) or getattr(column, "dtype", None)
    named = "values of Python" if kind is None or str(kind) == "object" else str(kind)
    return re.split(r"[<(\[{]", named)[0]


def _with_cells(column: Any) -> Any:
    """The column; an error unless each of its cells is a number, a text or a time."""
    if not has_cells(column.type):
        raise TypeError("a column has no cells that can be read")
    if not is_bytes(value_kind(column.type)):
        return column
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    stored = column.storage if isinstance(column.type, pa.BaseExtensionType) else column
    return stored.cast(pa.string())  # an error if they are no text


def _arrow(column: Any) -> Any:
    """A column as one Arrow array, whose cells are those of the column."""
    if str(getattr(column, "dtype", "")) == "Object":  # of polars, which would hand over addresses
        return _of_values(column.to_list())
    if hasattr(column, "to_arrow"):  # polars
        column = column.to_arrow()
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):  # without any chunk
            column = column.chunk(0) if column.num_chunks else pa.array([], column.type)
    if isinstance(column, pa.Array):
        return column
    kind = str(getattr(column, "dtype", "object"))
    if kind == "category":
        return _categories(column)
    if kind.startswith("Sparse"):
        column = np.asarray(column)
    if kind == "object" or not hasattr(column, "dtype") or column.dtype == object:
        return _of_values(list(column))
    if isinstance(column, np.ndarray) and column.dtype.kind == "f" and column.itemsize > 8:
        column = column.astype(np.float64)
    return pa.array(column, from_pandas=True)


def _categories(column: Any) -> Any:
    values = _arrow(column.cat.categories.to_series())
    codes = np.asarray(column.cat.codes, np.int64)
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), values)


def _of_values(values: list[Any]) -> Any:
    """Values of Python: all as dates, all as booleans, or all as texts.

    Dates beside texts are rejected: a text follows the format of its column, and a date does not.
    """
    if {type(value).__name__ for value in values} <= {"str", "NoneType"}:
        return pa.array(values, pa.string())
    plain = [None if _is_missing(value) else value for value in values]
    if any(isinstance(value, date) for value in plain) and all(
        value is None or isinstance(value, date) for value in plain
    ):
        return pa.array([_moment(value) for value in plain], pa.timestamp("us"))
    if {type(value) for value in plain} <= {bool, np.bool_, type(None)}:
        return pa.array(plain, pa.bool_())  # the text of a boolean is the same, 1 or 0
    return pa.array([_text(value) for value in plain], pa.string())


def _is_missing(value: Any) -> bool:
    floating = isinstance(value, float | np.floating | Decimal)
    return type(value).__name__ in _MISSING or (floating and bool(value != value))


def _moment(value: date | None) -> datetime | None:
    if value is None:
        return None
    if not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day)
    if value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    return datetime(*value.timetuple()[:6], value.microsecond)


def _text(value: Any) -> str | None:
    """The text of a value, by the rule of `Cells`."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, int):
        return str(int(value))  # a boolean is 1 or 0
    if isinstance(value, float):
        if abs(value) >= EXACT:
            raise ValueError("a number may have been rounded")
        return double_text(value)
    if isinstance(value, Decimal):
        return decimal_text(value)
    raise TypeError("a cell is no number or text")
