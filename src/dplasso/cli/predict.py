"""``dplasso predict``: labels of new rows."""

import sys
from pathlib import Path
from typing import Annotated, Any, TextIO

import numpy as np
import typer

from dplasso.cli import options as o
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
    zero_based: o.ZeroBased = None,
    quiet: o.Quiet = False,
) -> None:
    """Predict the rows of a file, one line each."""
    if output is not None:
        o.check_output(output)
    fitted = nameless(load(model))
    X, _ = rows_for(fitted, data, zero_based=zero_based, labels=None, labelled=False, quiet=quiet)
    if proba and not hasattr(fitted, "predict_proba"):
        raise ValueError("--proba needs a classifier; this model predicts numbers")
    lines = _probabilities(fitted, X) if proba else _plain(fitted.predict(X))
    if output is None:
        _write(sys.stdout, lines)
    else:
        replace_file(output, "".join(f"{line}\n" for line in lines).encode())


def _plain(values: Any) -> list[str]:
    return [_shown(value) for value in np.asarray(values).tolist()]


def _shown(value: Any) -> str:
    """Whole numbers as svmlight files have them, without a point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _probabilities(fitted: Any, X: Any) -> list[str]:
    head = "\t".join(_plain(fitted.classes_))
    return [head, *("\t".join(f"{p:.9g}" for p in row) for row in fitted.predict_proba(X))]


def _write(stream: TextIO, lines: list[str]) -> None:
    for line in lines:
        stream.write(f"{line}\n")
