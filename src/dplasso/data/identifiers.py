"""Which rows belong to one person: identifiers, compared as exact texts."""

import re
import unicodedata
from numbers import Integral
from typing import Any

import numpy as np

from dplasso.base.arrays import Ints
from dplasso.base.blanks import BLANKS

NOBODY = -1  # the number of rows without an identifier
_ENDS = re.compile(r"^[\s\0]+|[\s\0]+$")
_KINDS = (
    "groups must hold identifiers of people as text or whole numbers, got {kind}; convert them "
    "first, as text if in doubt"
)


def people_of(groups: Any) -> Ints:
    """Number the people of all rows: rows have the same number if they are of the same person.

    Identifiers are texts, bytes of UTF-8, or whole numbers, which count as their decimal digits.
    Two are the same if their texts are, after white space at the ends was removed and characters
    were composed (Unicode NFC). None, NaN and texts that stand for a missing cell of a table, such
    as an empty one or NA, are no identifiers: rows get NOBODY.

    Formal guarantees
    -----------------
    Whether two rows have the same number depends on their two identifiers alone: not on other
    rows, and not on how identifiers are stored. No hash is involved, so no two people are taken for
    one. Errors name the kind of a value and never the value.

    >>> people_of(["ann", "bob", " ann", "", None, "NA"]).tolist()
    [0, 1, 0, -1, -1, -1]
    >>> people_of(np.array([7, 7, 8], np.int8)).tolist(), people_of(["7", 7, 8]).tolist()
    ([0, 0, 1], [0, 0, 1])
    """
    found = _vector(groups)
    if found.dtype.kind in "iu":
        _, places = np.unique(found, return_inverse=True)
        return places.astype(np.int64)
    if found.dtype.kind not in "USTO":
        raise ValueError(_KINDS.format(kind=_kind_of(found.dtype)))
    known: dict[str, int] = {}
    numbers = np.empty(len(found), np.int64)
    for place, value in enumerate(found.tolist()):
        text = identifier_text(value)
        numbers[place] = known.setdefault(text, len(known)) if text else NOBODY
    return numbers


def count_people(people: Ints) -> int:
    """Number of different people."""
    return len(np.unique(people[people != NOBODY]))


def _vector(groups: Any) -> Any:
    if isinstance(groups, np.ma.MaskedArray):
        hidden, groups = np.ma.getmaskarray(groups), np.asarray(groups, object)
        groups[hidden] = None
    try:
        # As objects: numpy would turn whole numbers beside texts or gaps into something else.
        if not isinstance(getattr(groups, "dtype", None), np.dtype):
            for listed in ("to_list", "to_pylist"):  # columns of pandas, polars and pyarrow
                groups = getattr(groups, listed)() if hasattr(groups, listed) else groups
        if isinstance(groups, list | tuple):
            made = np.empty(len(groups), object)
            made[:] = groups
            groups = made
        found = np.asarray(groups)
    except Exception:  # what numpy or a library says could quote an identifier
        found = None
    if found is None or found.ndim != 1:
        raise ValueError("groups must have one dimension, one identifier per row; pass one column")
    return found


def identifier_text(value: Any) -> str:
    """The text of an identifier; empty if there is none."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "surrogateescape")
    if isinstance(value, str):
        text = unicodedata.normalize("NFC", _ENDS.sub("", value))
        return "" if text in BLANKS else text
    if isinstance(value, Integral) and not isinstance(value, bool | np.bool_):
        return str(int(value))
    if _is_missing(value):
        return ""
    raise ValueError(_KINDS.format(kind=type(value).__name__))


def _is_missing(value: Any) -> bool:
    """Whether it is None, NaN, NaT or the missing value of pandas, which equals nothing."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def _kind_of(dtype: Any) -> str:
    return {"f": "floating-point numbers", "b": "booleans", "M": "dates"}.get(
        dtype.kind, str(dtype.kind)
    )
