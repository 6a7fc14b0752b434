"""The entries that the cells of a column become."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dplasso.base.arrays import Floats
from dplasso.data.row_chunks import RowChunk
from dplasso.schema.cells import EXACT, Cells, is_number, is_text, numbers, pa, value_kind
from dplasso.schema.feature_space import FeatureSpace
from dplasso.schema.misspelt import class_hint, number_hint
from dplasso.schema.roles import Category, Date, Hashed, Number
from dplasso.schema.roles.base import Part
from dplasso.schema.schema import Schema

# Called with the place of a row, from 0, and what is wrong with it.
Refuse = Callable[[int, str], NoReturn]
Column = Callable[[str], Any]  # the cells of a column, as an Arrow array
# Numbers below which floating point holds every whole number, by its width.
_EXACT = {16: 2.0**11, 32: 2.0**24, 64: EXACT}


def encoded(
    space: FeatureSpace, column: Column, rows: int, labelled: bool, refuse: Refuse
) -> RowChunk:
    """The features, labels and people of some rows.

    Labels are positions in the classes, or unchanged numbers; 0 where they are not needed.

    Formal guarantees
    -----------------
    A row's entries are a function of that row and of the schema, to the last bit.
    """
    schema = space.schema
    labels = np.zeros(rows)
    if labelled and schema.target is not None:
        labels = labels_of(schema, column(schema.target), refuse)
    parts = []
    for name, start in space.starts.items():
        for places, features, values in _entries(space, name, column(name), refuse):
            parts.append((places, features + start, values))
    people = None
    if labelled and schema.person is not None:
        people = people_of(schema.person, column(schema.person), refuse)
    return _by_row(labels, parts, people)


def columns_of(space: FeatureSpace, labelled: bool) -> list[str]:
    """The columns that `encoded` asks for."""
    schema = space.schema
    more = [schema.target, schema.person] if labelled else []
    return [*space.columns, *(name for name in more if name is not None)]


def kept_texts(schema: Schema, name: str) -> Collection[str]:
    """Texts of a column that are declared, and therefore not missing even if they look blank."""
    role = schema.columns.get(name)
    if isinstance(role, Category):
        return role.levels
    return (schema.labels.classes or ()) if name == schema.target else ()


def _entries(space: FeatureSpace, name: str, column: Any, refuse: Refuse) -> list[Part]:
    role = space.columns[name]
    if isinstance(role, Number):
        return role.entries(checked_numbers(name, column, refuse), space.scaled)
    if isinstance(role, Hashed | Category):
        _refuse_rounded(name, column, refuse, {})
    cells = Cells.of(column)
    if isinstance(role, Hashed):
        return role.entries(cells, name)
    if isinstance(role, Category):
        return role.entries(cells)
    assert isinstance(role, Date)
    kind = value_kind(column.type)
    written = is_text(kind) or is_number(kind)
    moments = [role.moment(text, written) for text in cells.texts]
    found = [moment for moment in moments if moment is not None]
    if len(found) < len(moments):
        wrong = np.array([moment is None for moment in moments] + [False])[cells.codes]
        form = "ISO 8601 (2020-01-31)" if role.format is None else role.format
        refuse(
            int(wrong.argmax()),
            f"has no date of the form {form} in column {name!r}; mend it, or if all dates are "
            'written otherwise, state their format in the schema, such as "%d.%m.%Y" or '
            '"%d.%m.%Y %H:%M"',
        )
    return role.entries(cells, found, space.scaled)


def labels_of(schema: Schema, column: Any, refuse: Refuse) -> Floats:
    """Labels as positions of their classes, or as unchanged numbers."""
    name, classes = schema.target or "", schema.labels.classes
    if classes is None:
        labels = checked_numbers(name, column, refuse)
    else:
        cells, places = Cells.of(column), _class_places(classes, column.type)
        known = np.array([places.get(text, -1) for text in cells.texts] + [-1], np.int64)
        labels = known[cells.codes].astype(np.float64)
        unknown = (labels < 0) & (cells.codes >= 0)
        labels[labels < 0] = np.nan
        if unknown.any():
            at = int(unknown.argmax())
            hint = class_hint(cells.texts[cells.codes[at]], classes)
            refuse(at, f"has a label that is not among the classes, to the letter; {hint}")
    missing = ~np.isfinite(labels)
    if missing.any():
        refuse(int(missing.argmax()), "has no label; remove it or give it one")
    return labels


def people_of(name: str, column: Any, refuse: Refuse) -> NDArray[Any]:
    """The identifiers of people, to the letter; None where they are missing."""
    _refuse_rounded(name, column, refuse, _EXACT)
    cells = Cells.of(column)
    found = np.array([*cells.texts, None], dtype=object)[cells.codes]
    assert isinstance(found, np.ndarray)
    return found


def _refuse_rounded(name: str, column: Any, refuse: Refuse, exact: Mapping[int, float]) -> None:
    """Refuse numbers that a floating-point column may have rounded.

    One missing cell lets libraries store whole numbers in floating point. Because of another row,
    two long identifiers could then become one.
    """
    if not pa.types.is_floating(value_kind(column.type)):
        return
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    most = exact.get(column.type.bit_width, EXACT)
    rounded = np.abs(column.to_numpy(zero_copy_only=False).astype(np.float64)) >= most
    if rounded.any():
        refuse(
            int(rounded.argmax()),
            f"has a number in column {name!r} that floating point may have rounded; give the "
            "column as text or as whole numbers",
        )


def checked_numbers(name: str, column: Any, refuse: Refuse) -> Floats:
    """The numbers of a column, NaN where missing; the first row without a number is refused."""
    found = numbers(column)
    if found is None:
        wrong = (k for k in range(len(column)) if numbers(column.slice(k, 1)) is None)
        at = next(wrong, 0)
        hint = number_hint("".join(Cells.of(column.slice(at, 1)).texts))
        refuse(at, f"has no number in column {name!r}; {hint}")
    return found


def _class_places(classes: Collection[str], kind: Any) -> dict[str, int]:
    """The position of each text among the classes.

    Booleans, and the numbers 1 and 0, match "true" and "false", in any capitals.
    """
    places = {text: k for k, text in enumerate(classes)}
    kind = value_kind(kind)
    if is_number(kind) or pa.types.is_boolean(kind):
        spelt = {text.casefold(): k for text, k in reversed(places.items())} | places
        for number, word in (("0", "false"), ("1", "true")):
            if word in spelt:
                places.setdefault(number, spelt[word])
    return places


def _by_row(labels: Floats, parts: list[Part], people: NDArray[Any] | None) -> RowChunk:
    """Sort the entries by row; within a row they keep the column order of the parts."""
    rows, columns, values = (np.concatenate(field) for field in zip(*parts, strict=True))
    order = np.argsort(rows, kind="stable")
    indptr = np.zeros(len(labels) + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=len(labels)), out=indptr[1:])
    return RowChunk(labels, indptr, columns[order], values[order], people)
