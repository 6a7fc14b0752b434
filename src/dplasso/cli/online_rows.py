"""Lines of a stream as rows and labels: svmlight text, or a JSON object a line."""

import json
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplasso.online.stream_learner import Compressed
from dplasso.reading.svmlight import svmlight_rows

FORMATS = ("svmlight", "jsonl")


class LineForm(NamedTuple):
    """How a line is read."""

    kind: str
    columns: int
    zero_based: bool
    target: str
    regression: bool


class Parsed(NamedTuple):
    """Rows as the model takes them, and their labels as they are written."""

    rows: Compressed
    labels: NDArray[Any]


def parsed(model: Any, lines: bytes, form: LineForm, before: int) -> Parsed:
    """Rows of whole lines; an error names the line, ``before`` lines having come before."""
    if form.kind == "jsonl":
        return _of_json(model, lines, form, before)
    try:
        chunk = svmlight_rows(lines, n_features=form.columns, zero_based=form.zero_based)
    except ValueError as error:
        number, _, reason = str(error).removeprefix("line ").partition(": ")
        raise ValueError(f"line {before + int(number)}: {reason}") from error
    rows = model._form.of_parts(chunk.indptr, chunk.indices, chunk.values)
    return Parsed(rows, chunk.labels)


def _of_json(model: Any, lines: bytes, form: LineForm, before: int) -> Parsed:
    rows, labels = [], []
    for number, line in enumerate(lines.splitlines(), before + 1):
        if not line.strip():
            continue
        row = _object(line, number)
        if form.target not in row:
            raise ValueError(f"line {number}: there is no {form.target!r}; every row has its label")
        labels.append(_label(row.pop(form.target), form, number))
        rows.append(row)
    try:
        made = model._form.of_dicts(rows)
    except ValueError as error:
        raise ValueError(f"after line {before}: {error}") from None
    return Parsed(made, np.array(labels, np.float64 if form.regression else object))


def _object(line: bytes, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError:
        raise ValueError(f"line {number}: this is no JSON; correct the line") from None
    if not isinstance(row, dict):
        raise ValueError(f"line {number}: a row is an object of names and values; make it one")
    return row


def _label(value: Any, form: LineForm, number: int) -> Any:
    if not form.regression:
        return value if isinstance(value, str) else json.dumps(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"line {number}: {form.target!r} must be a number; correct it")
    return float(value)
