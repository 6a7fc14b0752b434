"""``dplasso predict``: predict the labels of new rows."""

import sys
from typing import Annotated, Any

import typer

from dplasso.base.terminal import printable
from dplasso.cli import options as o
from dplasso.cli.output import reading
from dplasso.estimators import load
from dplasso.estimators.prediction_file import predict_file, predicted_lines


def predict(
    model: o.Model,
    data: o.Data,
    output: o.Predictions = None,
    proba: o.Proba = False,
    identifier: Annotated[
        str | None,
        typer.Option("--id", help="Column of a table to write before each prediction."),
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
    fitted = load(model)
    with reading(data, quiet=quiet) as progress:
        how: dict[str, Any] = {
            "proba": proba,
            "identifier": identifier,
            "zero_based": zero_based,
            "raw": raw,
            "longest_line": o.longest_line_of(longest_line),
            "progress": progress,
        }
        if output is not None:
            predict_file(fitted, data, output, **how)
            return
        lines = predicted_lines(fitted, data, **how)
    watched = sys.stdout.isatty()
    for line in lines:
        shown = "\t".join(map(printable, line.split("\t"))) if watched else line
        sys.stdout.write(f"{shown}\n")
