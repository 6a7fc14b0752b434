"""``dplasso predict``: labels of new rows."""

import re
import sys
from pathlib import Path
from typing import Annotated, Any, TextIO

import numpy as np
import typer

from dplasso.base.terminal import printable
from dplasso.cli import options as o
from dplasso.cli.inputs import TABLES
from dplasso.cli.scoring import nameless, rows_for
from dplasso.estimators import load
from dplasso.storage.atomic import replace_file
from dplasso.storage.spreadsheet import cell


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
    raw: o.Raw = False,
    longest_line: o.LongestLine = None,
    quiet: o.Quiet = False,
) -> None:
    """Predict the rows of a file, one line each.

    With --proba or --id there is a header, and columns are separated by tabs.
    """
    if output is not None:
        o.check_output(output, data, model)
    fitted = nameless(load(model))
    X, _ = rows_for(
        fitted,
        data,
        zero_based=zero_based,
        labels=None,
        labelled=False,
        quiet=quiet,
        longest_line=longest_line,
    )
    if proba and not hasattr(fitted, "predict_proba"):
        what = "has a loss without them" if hasattr(fitted, "classes_") else "predicts numbers"
        raise ValueError(f"--proba needs a classifier with probabilities; this model {what}")
    if identifier is not None and not data.name.lower().endswith(TABLES):
        raise ValueError("--id needs a table, CSV or Parquet, to take the column from")
    lines = _probabilities(fitted, X, raw) if proba else _plain(fitted.predict(X), raw)
    if identifier is not None:
        from dplasso.reading.tables import column_texts

        heads = [] if proba else ["prediction"]
        delimiter = getattr(fitted, "table_plan_", {}).get("delimiter")
        texts = [identifier, *column_texts(data, identifier, delimiter)]
        names = [_cell(text, raw) for text in texts]
        lines = [f"{name}\t{line}" for name, line in zip(names, heads + lines, strict=True)]
    if output is None:
        _write(sys.stdout, lines)
    else:
        replace_file(output, "".join(f"{line}\n" for line in lines).encode())


def _plain(values: Any, raw: bool) -> list[str]:
    return [_shown(value, raw) for value in np.asarray(values).tolist()]


def _cell(text: str, raw: bool) -> str:
    """A cell that stays one, whatever it holds, and no formula."""
    whole = " ".join(text.split()) if re.search(r"[\t\r\n]", text) else text
    return whole if raw else cell(whole, "\t")


def _shown(value: Any, raw: bool) -> str:
    """Whole numbers as svmlight files have them, without a point."""
    if isinstance(value, str):
        return _cell(value, raw)
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _probabilities(fitted: Any, X: Any, raw: bool) -> list[str]:
    head = "\t".join(_plain(fitted.classes_, raw))
    return [head, *("\t".join(f"{p:.9g}" for p in row) for row in fitted.predict_proba(X))]


def _write(stream: TextIO, lines: list[str]) -> None:
    watched = stream.isatty()
    for line in lines:
        shown = "\t".join(map(printable, line.split("\t"))) if watched else line
        stream.write(f"{shown}\n")
