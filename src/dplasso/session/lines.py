"""Parse lines of a stream into rows and labels: svmlight text, or one JSON object per line."""

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplasso.base.silence import raise_alone
from dplasso.base.wording import ParameterError
from dplasso.estimators.online_rows import RowForm
from dplasso.online.stream_learner import Compressed
from dplasso.reading.svmlight import LineError, svmlight_rows

FORMATS = ("svmlight", "jsonl")


@dataclass(frozen=True)
class LineForm:
    """How lines become rows."""

    kind: str  # one of FORMATS; "jsonl" means one JSON object per line
    n_features: int  # columns of svmlight rows, or that names in JSON rows are hashed to
    zero_based: bool  # whether svmlight indices start at 0
    target: str  # name of the label in a JSON object
    regression: bool  # whether labels are numbers

    def __post_init__(self) -> None:
        if self.kind not in FORMATS:
            raise ParameterError(
                "{format} must be one of {known}, got {kind!r}",
                known=", ".join(FORMATS),
                kind=self.kind,
            )


# Rows in the form that the model uses, and their labels as written in the lines.
Parsed = tuple[Compressed, NDArray[Any]]


def parsed(columns: RowForm, lines: bytes, form: LineForm, before: int) -> Parsed:
    """Parse complete lines; an error names the line, counted from ``before`` earlier lines."""
    if form.kind == "jsonl":
        return _of_json(columns, lines, form, before)
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
