"""The text and the number of a table's cell depend on its value, not on its column's type.

Whoever writes a Parquet file chooses the type of a column from all its rows: one missing cell makes
whole numbers floating-point, one more digit widens every decimal. If the text of a cell followed
the type, one row would move the features of all others.
"""

import datetime
from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dplasso.base.arrays import Floats, Ints
from dplasso.base.blanks import BLANKS
from dplasso.base.extras import require

pa = require("pyarrow", "compute", extra="tables", purpose="reading CSV and Parquet files")
_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}  # per second
_DAY = 86_400  # seconds
_MICROSECONDS = 10**6  # per second
EXACT = 2.0**53  # below it, double precision holds every whole number


@dataclass(frozen=True)
class Cells:
    """A column of texts: the distinct texts, and per row the index of its text (-1 if missing).

    Formal guarantees
    -----------------
    The text of a cell is a function of its value alone, whatever type the other rows gave the
    column and whatever unit or scale that type has:

    - text is not changed;
    - a whole number is written in its digits, whether it is held as an integer, a floating-point
      number or a decimal; a boolean is the number 1 or 0;
    - any other number is written as Python's ``repr`` of its double-precision value, so single
      precision is widened first, and a decimal is rounded;
    - a date is written as 2020-01-31, a date and time as 2020-01-31 14:30:00.25 in UTC; a time
      without a zone is not converted, trailing zeros are left out, and midnight is the date;
    - a time of day is written as 14:30:00.25, a duration as its number of seconds;
    - a missing cell and NaN have no text.
    """

    texts: list[str]
    codes: Ints

    @classmethod
    def of(cls, column: Any) -> Self:
        values, codes = _coded(column)
        return cls(_texts(values), codes)


def without_blanks(column: Any, kept: Collection[str] = ()) -> Any:
    """The column with missing cells where a text is blank and none of those to keep.

    A column that has no texts is not changed.
    """
    if pa.types.is_dictionary(column.type):
        values = without_blanks(column.dictionary, kept)
        if values is column.dictionary:
            return column
        return pa.DictionaryArray.from_arrays(column.indices, values)
    if not is_text(column.type):
        return column
    column = _plain(column)
    blank = pa.compute.is_in(column, value_set=pa.array(sorted(BLANKS.difference(kept))))
    return pa.compute.if_else(blank, pa.scalar(None, pa.string()), column)


def numbers(column: Any) -> Floats | None:
    """The numbers of a column, NaN where missing or blank; None if a cell holds anything else.

    Formal guarantees
    -----------------
    The number of a cell is the double nearest to its value, whatever the type of its column.
    """
    try:
        if pa.types.is_dictionary(column.type):
            values, codes = _coded(column)
            found = numbers(values)
            return None if found is None else np.append(found, np.nan)[codes]
        column = _plain(column)
        if pa.types.is_temporal(column.type):
            return None
        if pa.types.is_decimal(column.type):  # the rounding of Arrow's cast depends on the scale
            column = column.cast(pa.string())
        if pa.types.is_string(column.type):
            column = without_blanks(pa.compute.utf8_trim_whitespace(column))
        doubles = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    return np.asarray(doubles, np.float64)


def value_kind(kind: Any) -> Any:
    """The type of the values of a column, whether they are stored in a dictionary or extended."""
    if pa.types.is_dictionary(kind):
        return value_kind(kind.value_type)
    return value_kind(kind.storage_type) if isinstance(kind, pa.BaseExtensionType) else kind


def is_bytes(kind: Any) -> bool:
    """Whether a type holds bytes, which are cells if they are text in UTF-8."""
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_binary_view(kind)
        or pa.types.is_fixed_size_binary(kind)
    )


def has_cells(kind: Any) -> bool:
    """Whether a column of this type has one value per cell, which is a number, text or time."""
    kind = value_kind(kind)
    timed = pa.types.is_temporal(kind) and not pa.types.is_interval(kind)
    plain = pa.types.is_boolean(kind) or pa.types.is_null(kind)
    return bool(timed or plain or is_bytes(kind) or is_text(kind) or is_number(kind))


def is_text(kind: Any) -> bool:
    """Whether a type holds texts."""
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_string_view(kind)
    )


def is_number(kind: Any) -> bool:
    """Whether a type is numeric."""
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def text_of(value: object) -> str:
    """The text of a single value, by the rule of `Cells`.

    >>> [text_of(value) for value in ("a", True, 60.0, 0.5, datetime.date(2020, 1, 31))]
    ['a', '1', '60', '0.5', '2020-01-31']
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int):
        return str(int(value))
    if isinstance(value, float):
        if abs(value) >= EXACT:
            raise ValueError("a number has so many digits that it was rounded; write it as text")
        return double_text(value)
    if isinstance(value, datetime.datetime):
        return _time_texts(np.array([value], "datetime64[us]").astype(np.int64), 10**6)[0]
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, datetime.time):
        seconds = 60 * (60 * value.hour + value.minute) + value.second
        return _clock(10**6 * seconds + value.microsecond, 10**6)
    if isinstance(value, datetime.timedelta):
        return _seconds(value // datetime.timedelta(microseconds=1), 10**6)
    raise TypeError(f"a cell has the type {type(value).__name__}, which has no text")


def _coded(column: Any) -> tuple[Any, Ints]:
    """The distinct values that are not missing, and for each row the index of its value or -1."""
    if not pa.types.is_dictionary(column.type):
        column = _plain(column).dictionary_encode()
    signed = column.indices.cast(pa.int64())  # others have no -1
    codes = signed.fill_null(-1).to_numpy(zero_copy_only=False)
    # The file's dictionary may hold values that no row here has, or a missing value.
    used, places = np.unique(codes, return_inverse=True)
    first = int(np.searchsorted(used, 0))
    values = _plain(column.dictionary.take(pa.array(used[first:])))
    present = values.is_valid().to_numpy(zero_copy_only=False)
    renumbered = np.where(present, np.cumsum(present) - 1, -1)
    return values.drop_null(), np.append(renumbered, -1)[places - first]


def _plain(column: Any) -> Any:
    """The column in one of the types that `_texts` handles; NaN counts as missing."""
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.storage
    kind = column.type
    if pa.types.is_floating(kind):
        doubles: NDArray[Any] = column.to_numpy(zero_copy_only=False)
        return pa.array(doubles.astype(np.float64), from_pandas=True)
    if pa.types.is_boolean(kind):
        return column.cast(pa.int8())
    known = pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_temporal(kind)
    return column if known or pa.types.is_string(kind) else column.cast(pa.string())


def _texts(values: Any) -> list[str]:
    kind = values.type
    if pa.types.is_floating(kind):
        return [double_text(value) for value in values.to_pylist()]
    if pa.types.is_decimal(kind):
        return [decimal_text(value) for value in values.to_pylist()]
    if not pa.types.is_temporal(kind):
        texts: list[str] = values.cast(pa.string()).to_pylist()
        return texts
    if pa.types.is_date32(kind):
        return _time_texts(_ticks(values) * _DAY, 1)
    per_second = 10**3 if pa.types.is_date64(kind) else _TICKS[kind.unit]
    if pa.types.is_time(kind):
        return [_clock(tick, per_second) for tick in _ticks(values).tolist()]
    if pa.types.is_duration(kind):
        return [_seconds(tick, per_second) for tick in _ticks(values).tolist()]
    if per_second > _MICROSECONDS:  # values of Python hold no more
        return _time_texts(_ticks(values) // (per_second // _MICROSECONDS), _MICROSECONDS)
    return _time_texts(_ticks(values), per_second)


def double_text(value: float) -> str:
    """The text of a number in double precision."""
    return str(int(value)) if value.is_integer() else repr(value)


def decimal_text(value: Decimal) -> str:
    """The text of a decimal."""
    whole = int(value)
    return str(whole) if whole == value else double_text(float(value))


def _ticks(values: Any) -> Ints:
    """Times as the integers that store them."""
    same_width = pa.int32() if values.type.bit_width == 32 else pa.int64()  # noqa: PLR2004
    ticks: Ints = values.view(same_width).to_numpy(zero_copy_only=False).astype(np.int64)
    return ticks


def _time_texts(ticks: Ints, per_second: int) -> list[str]:
    days, within = np.divmod(ticks, _DAY * per_second)
    dates = np.datetime_as_string(days.astype("datetime64[D]")).tolist()
    return [
        f"{date} {_clock(tick, per_second)}" if tick else date
        for date, tick in zip(dates, within.tolist(), strict=True)
    ]


def _clock(ticks: int, per_second: int) -> str:
    seconds, part = divmod(ticks, per_second)
    minutes, second = divmod(seconds, 60)
    return f"{minutes // 60:02}:{minutes % 60:02}:{second:02}{_fraction(part, per_second)}"


def _seconds(ticks: int, per_second: int) -> str:
    seconds, part = divmod(abs(ticks), per_second)
    return f"{'-' if ticks < 0 else ''}{seconds}{_fraction(part, per_second)}"


def _fraction(part: int, per_second: int) -> str:
    """The point and the digits after it, without trailing zeros; empty if no digits remain."""
    return f".{str(per_second + part)[1:]}".rstrip("0") if part else ""
