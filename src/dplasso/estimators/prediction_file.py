"""Predict the rows of a file, which are read as the model's training rows were."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dplasso.base.wording import ParameterError
from dplasso.estimators.coefficients import without_names
from dplasso.reading import read_rows
from dplasso.reading.formats import format_of
from dplasso.reading.options import Progress, ReadingOptions
from dplasso.reading.reader import existing, like_options
from dplasso.storage.atomic import check_replaceable, replace_file
from dplasso.storage.prediction_lines import one_cell, prediction_lines, probability_lines

_Path = str | os.PathLike[str]


def predict_file(model: Any, path: _Path, output: _Path, **options: Any) -> None:
    """Write a prediction for every row of a file; see ``model.predict_file``."""
    check_replaceable(output)
    if os.path.exists(output) and os.path.exists(path) and os.path.samefile(path, output):
        raise ParameterError("{output} is also what is read; give another name")
    lines = predicted_lines(model, path, **options)
    replace_file(output, "".join(f"{line}\n" for line in lines).encode())


def predicted_lines(
    model: Any,
    path: _Path,
    *,
    proba: bool = False,
    identifier: str | None = None,
    zero_based: bool | None = None,
    raw: bool = False,
    longest_line: int | None = None,
    progress: Progress | None = None,
) -> list[str]:
    """Return the lines that `predict_file` writes. Predictions are AS PRIVATE AS THE ROWS."""
    if proba and not hasattr(model, "predict_proba"):
        what = "has a loss without them" if hasattr(model, "classes_") else "predicts numbers"
        raise ParameterError(
            "{proba} needs a classifier with probabilities; this model {what}", what=what
        )
    found = existing(path)
    texts = None
    if identifier is not None:
        options = ReadingOptions(longest_line=longest_line)
        texts = _identifiers(found, identifier, like_options(found, options, model))
    rows = read_rows(
        found,
        like=model,
        labelled=False,
        zero_based=zero_based,
        longest_line=longest_line,
        progress=progress,
    )
    plain = without_names(model)
    if proba:
        lines = ["\t".join(prediction_lines(plain.classes_, raw=raw))]
        lines += probability_lines(plain.predict_proba(rows.X))
    else:
        lines = prediction_lines(plain.predict(rows.X), raw=raw)
    if texts is None:
        return lines
    heads = [] if proba else ["prediction"]
    names = [one_cell(text, raw=raw) for text in texts]
    return [f"{name}\t{line}" for name, line in zip(names, heads + lines, strict=True)]


def _identifiers(path: Path, column: str, options: ReadingOptions) -> Iterator[str]:
    """Iterate over the name of a column and its cells."""
    cells = format_of(path).column_texts(path, column, options)
    return iter([column, *cells])
