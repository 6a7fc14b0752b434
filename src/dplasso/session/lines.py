"""Parse lines of a stream into rows and labels: svmlight text, JSON objects, or CSV."""

import csv
import json
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dplasso.base.silence import raise_alone
from dplasso.base.wording import ParameterError
from dplasso.estimators.online_rows import RowForm
from dplasso.online.stream_learner import Compressed
from dplasso.reading.svmlight import LineError, svmlight_rows
from dplasso.schema import FeatureSpace, Schema

FORMATS = ("svmlight", "jsonl", "csv")


@dataclass(frozen=True)
class LineForm:
    """How lines become rows."""

    kind: str  # one of FORMATS; "jsonl" means one JSON object per line
    n_features: int  # columns of svmlight rows, or that names in JSON rows are hashed to
    zero_based: bool  # whether svmlight indices start at 0
    target: str  # name of the label in a JSON object
    regression: bool  # whether labels are numbers
    schema: Schema | None = None  # of CSV: its columns in order, and their roles

    def __post_init__(self) -> None:
        if self.kind not in FORMATS:
            raise ParameterError(
                "{format} must be one of {known}, got {kind!r}",
                known=", ".join(FORMATS),
                kind=self.kind,
            )
        if (self.kind == "csv") != (self.schema is not None):
            raise ParameterError("{format} csv needs {schema}, and no other format does")
        if self.schema is None:
            return
        self.schema.check_filled()
        if self.schema.person is not None or self.schema.n_people is not None:
            raise ParameterError(
                "{schema} names people, whom a stream does not protect: it protects rows; give "
                "that column the role identifier, and leave out {n_people}, if that is meant"
            )
        if self.schema.labels.class_weight:
            raise ParameterError("{schema} has a class_weight, which a stream has no use for")
        if (self.schema.labels.classes is None) != self.regression:
            raise ParameterError("{schema} states labels of another kind than the model predicts")
        if self.n_features != self.space.size:
            raise ParameterError(
                "{n_features} must be the number of features of {schema}, {size:,}",
                size=self.space.size,
            )

    @cached_property
    def space(self) -> FeatureSpace:
        """The features of CSV rows: numbers are scaled to [-1, 1]."""
        assert self.schema is not None
        return FeatureSpace(self.schema, scaled=True)


# Rows in the form that the model uses, and their labels as written in the lines.
Parsed = tuple[Compressed, NDArray[Any]]


def parsed(columns: RowForm, lines: bytes, form: LineForm, before: int) -> Parsed:
    """Parse complete lines; an error names the line, counted from ``before`` earlier lines."""
    if form.kind == "jsonl":
        return _of_json(columns, lines, form, before)
    if form.schema is not None:
        return _of_csv(columns, lines, form.space, before)
    try:
        chunk = svmlight_rows(lines, n_features=form.n_features, zero_based=form.zero_based)
    except LineError as error:
        raise LineError(before + error.line, error.reason) from error
    return columns.of_parts(chunk.indptr, chunk.indices, chunk.values), chunk.labels


def _of_json(columns: RowForm, lines: bytes, form: LineForm, before: int) -> Parsed:
    rows, labels, numbers = [], [], []
    for number, line in enumerate(lines.splitlines(), before + 1):
        if not line.strip():
            continue
        row = _object(line, number)
        if form.target not in row:
            raise ValueError(f"line {number}: there is no {form.target!r}; every row has its label")
        labels.append(_label(row.pop(form.target), form, number))
        rows.append(row)
        numbers.append(number)
    try:
        made = columns.of_dicts(rows)
    except ValueError:
        _refuse_first(columns, rows, numbers)
        raise
    return made, np.array(labels, np.float64 if form.regression else object)


def _of_csv(columns: RowForm, lines: bytes, space: FeatureSpace, before: int) -> Parsed:
    """Parse rows that have the columns of the schema, in its order; line 1 may be their header."""
    from dplasso.schema.frames import encode_frame  # tables need an extra

    schema, rows, numbers = space.schema, list[list[str]](), list[int]()
    names = list(schema.columns)
    for number, line in enumerate(lines.splitlines(), before + 1):
        cells = _cells(line, number, schema)
        if not cells or (number == 1 and cells == names):
            continue
        if len(cells) != len(names):
            raise ValueError(
                f"line {number}: there is not one cell per column of the schema; give its columns "
                "in its order, without line breaks in cells"
            )
        rows.append(cells)
        numbers.append(number)
    frame = {name: [row[k] for row in rows] for k, name in enumerate(names)}

    def refuse(row: int, why: str) -> NoReturn:
        raise ValueError(f"line {numbers[row]} {why}")

    chunk = encode_frame(space, frame, labelled=True, refuse=refuse)
    made = columns.of_parts(chunk.indptr, chunk.indices, chunk.values)
    classes = schema.labels.classes
    if classes is None:
        return made, chunk.labels
    return made, np.array(classes, dtype=object)[chunk.labels.astype(np.intp)]


def _cells(line: bytes, number: int, schema: Schema) -> list[str]:
    try:
        text = line.decode(schema.encoding or "utf-8")
        text = text.removeprefix("\ufeff") if number == 1 else text
        return next(csv.reader([text], delimiter=schema.delimiter or ",", strict=True), [])
    except (UnicodeDecodeError, csv.Error):
        raise_alone(ValueError(f"line {number}: this is no row of CSV; correct the line"))


def _refuse_first(columns: RowForm, rows: list[dict[str, Any]], numbers: list[int]) -> None:
    """Raise an error that names the line of the first invalid row."""
    for row, number in zip(rows, numbers, strict=True):
        try:
            columns.of_dicts([row])
        except ValueError as error:
            raise_alone(ValueError(f"line {number}: {error}"))


def _object(line: bytes, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError:
        raise_alone(ValueError(f"line {number}: this is no JSON; correct the line"))
    except RecursionError:
        raise_alone(ValueError(f"line {number}: lists or objects are nested too deeply"))
    if not isinstance(row, dict):
        raise ValueError(f"line {number}: a row is an object of names and values; make it one")
    return row


def _label(value: Any, form: LineForm, number: int) -> Any:
    if isinstance(value, list | dict):
        raise ValueError(
            f"line {number}: {form.target!r} must be one label, not a list or an object; correct it"
        )
    if not form.regression:
        return value if isinstance(value, str) else json.dumps(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"line {number}: {form.target!r} must be a number; correct it")
    try:
        label = float(value)
    except OverflowError:  # a whole number too large for a float
        label = math.inf
    if not math.isfinite(label):
        raise ValueError(f"line {number}: {form.target!r} must be finite; correct it")
    return label
