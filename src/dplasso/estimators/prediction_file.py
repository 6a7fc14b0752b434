"""Predict the rows of a file, which are read as the model's training rows were."""

import os
from collections.abc import Iterator, Sequence
from typing import Any

from dplasso.base.wording import ParameterError
from dplasso.estimators.coefficients import without_names
from dplasso.reading import read_rows
from dplasso.reading.files import Files, PathLike
from dplasso.reading.formats import format_of
from dplasso.reading.options import Progress, ReadingOptions
from dplasso.reading.reader import like_options
from dplasso.schema import Schema
from dplasso.storage.atomic import check_replaceable, replace_file
from dplasso.storage.prediction_lines import (
    COMMA,
    TAB,
    one_cell,
    prediction_lines,
    probability_lines,
)

_Path = PathLike
_Paths = PathLike | Sequence[PathLike] | Files


def predict_file(model: Any, path: _Paths, output: _Path, **options: Any) -> None:
    """Write a prediction for every row of a file; see ``model.predict_file``."""
    check_replaceable(output)
    files = Files.of(path)
    if os.path.exists(output) and any(os.path.samefile(each, output) for each in files.paths):
        raise ParameterError("{output} is also what is read; give another name")
    commas = os.fspath(output).lower().endswith(".csv")
    lines = predicted_lines(model, files, separator=COMMA if commas else TAB, **options)
    replace_file(output, "".join(f"{line}\n" for line in lines).encode())


def predicted_lines(
    model: Any,
    path: _Paths,
    *,
    proba: bool = False,
    identifier: str | None = None,
    schema: Schema | _Path | None = None,
    zero_based: bool | None = None,
    raw: bool = False,
    separator: str = TAB,
    delimiter: str | None = None,
    encoding: str | None = None,
    longest_line: int | None = None,
    progress: Progress | None = None,
) -> list[str]:
    """Return the lines that `predict_file` writes. Predictions are AS PRIVATE AS THE ROWS.

    Between tabs, predictions alone have no header; a file of CSV always has one.
    """
    if proba and not hasattr(model, "predict_proba"):
        what = "has a loss without them" if hasattr(model, "classes_") else "predicts numbers"
        raise ParameterError(
            "{proba} needs a classifier with probabilities; this model {what}", what=what
        )
    found = Files.of(path)
    written: dict[str, Any] = {
        "delimiter": delimiter,
        "encoding": encoding,
        "longest_line": longest_line,
    }
    texts = None
    if identifier is not None:
        options = ReadingOptions(**written, schema=schema, labelled=False)
        texts = _identifiers(found, identifier, like_options(found, options, model))
    rows = read_rows(
        found,
        like=model,
        labelled=False,
        schema=schema,
        zero_based=zero_based,
        progress=progress,
        **written,
    )
    plain = without_names(model)
    form: dict[str, Any] = {"raw": raw, "separator": separator}
    if proba:
        head = separator.join(prediction_lines(plain.classes_, **form))
        lines = probability_lines(plain.predict_proba(rows.X), separator)
    else:
        head, lines = "prediction", prediction_lines(plain.predict(rows.X), **form)
    if texts is None:
        return [head, *lines] if proba or separator == COMMA else lines
    names = [one_cell(text, **form) for text in texts]
    return [f"{name}{separator}{line}" for name, line in zip(names, [head, *lines], strict=True)]


def _identifiers(path: Files, column: str, options: ReadingOptions) -> Iterator[str]:
    """Iterate over the name of a column and its cells."""
    cells = format_of(path).column_texts(path, column, options)
    return iter([column, *cells])
