"""``dplasso predict``: predict the labels of new rows."""

import sys
from typing import Annotated, Any

import typer

from dplasso.base.terminal import printable
from dplasso.cli import endings
from dplasso.cli import options as o
from dplasso.cli.output import reading
from dplasso.estimators import load
from dplasso.estimators.prediction_file import predict_file, predicted_lines
from dplasso.reading.files import Files


def predict(
    model: o.Model,
    data: o.Data,
    output: o.Predictions = None,
    proba: o.Proba = False,
    identifier: Annotated[
        str | None,
        typer.Option("--id", help="Column of a table to write before each prediction."),
    ] = None,
    schema: o.SchemaFile = None,
    zero_based: o.ZeroBased = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    raw: o.Raw = False,
    longest_line: o.LongestLine = None,
    force: o.Force = False,
    quiet: o.Quiet = False,
) -> None:
    """Predict the rows of a file, one line each.

    With --proba or --id there is a header, and columns are separated by tabs. An output whose name
    ends in .csv always has a header, and commas.
    """
    if output is not None:
        o.check_output(output, *data, model)
        o.check_unused(output, force)
    endings.begin(output, "file of predictions")
    fitted, files = load(model), Files.of(data)
    with reading(files, quiet=quiet) as progress:
        how: dict[str, Any] = {
            "proba": proba,
            "identifier": identifier,
            "schema": schema,
            "zero_based": zero_based,
            "raw": raw,
            "delimiter": delimiter,
            "encoding": encoding,
            "longest_line": o.longest_line_of(longest_line),
            "progress": progress,
        }
        if output is not None:
            predict_file(fitted, files, output, **how)
            return
        lines = predicted_lines(fitted, files, **how)
    watched = sys.stdout.isatty()
    for line in lines:
        shown = "\t".join(map(printable, line.split("\t"))) if watched else line
        sys.stdout.write(f"{shown}\n")
