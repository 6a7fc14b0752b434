"""``dplasso predict``: labels of new rows."""

import re
import sys
from pathlib import Path
from typing import Annotated, Any, TextIO

import numpy as np
import typer

from dplasso.cli import options as o
from dplasso.cli.inputs import TABLES
from dplasso.cli.scoring import nameless, rows_for
from dplasso.estimators import load
from dplasso.storage.atomic import replace_file


def predict(
    model: o.Model,
    data: o.Data,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A file; else standard output.")
    ] = None,
    proba: Annotated[bool, typer.Option(help="Probabilities of all classes.")] = False,
    identifier: Annotated[
        str | None, typer.Option("--id", help="Column of a table to put before each prediction.")
    ] = None,
    zero_based: o.ZeroBased = None,
    quiet: o.Quiet = False,
) -> None:
    """Predict the rows of a file, one line each.

    With --proba or --id there is a header, and columns are separated by tabs.
    """
    if output is not None:
        o.check_output(output, data, model)
    fitted = nameless(load(model))
    X, _ = rows_for(fitted, data, zero_based=zero_based, labels=None, labelled=False, quiet=quiet)
    if proba and not hasattr(fitted, "predict_proba"):
        raise ValueError("--proba needs a classifier; this model predicts numbers")
    if identifier is not None and not data.name.lower().endswith(TABLES):
        raise ValueError("--id needs a table, CSV or Parquet, to take the column from")
    lines = _probabilities(fitted, X) if proba else _plain(fitted.predict(X))
    if identifier is not None:
        from dplasso.reading.tables import column_texts

        heads = [] if proba else ["prediction"]
        delimiter = getattr(fitted, "table_plan_", {}).get("delimiter")
        names = [identifier, *(_cell(text) for text in column_texts(data, identifier, delimiter))]
        lines = [f"{name}\t{line}" for name, line in zip(names, heads + lines, strict=True)]
    if output is None:
        _write(sys.stdout, lines)
    else:
        replace_file(output, "".join(f"{line}\n" for line in lines).encode())


def _plain(values: Any) -> list[str]:
    return [_shown(value) for value in np.asarray(values).tolist()]


def _cell(text: str) -> str:
    """A cell that stays one, whatever it holds."""
    return " ".join(text.split()) if re.search(r"[\t\r\n]", text) else text


def _shown(value: Any) -> str:
    """Whole numbers as svmlight files have them, without a point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _probabilities(fitted: Any, X: Any) -> list[str]:
    head = "\t".join(_plain(fitted.classes_))
    return [head, *("\t".join(f"{p:.9g}" for p in row) for row in fitted.predict_proba(X))]


def _write(stream: TextIO, lines: list[str]) -> None:
    for line in lines:
        stream.write(f"{line}\n")
