"""``dplasso report``: write one HTML page about a model."""

from pathlib import Path
from typing import Annotated

import typer

from dplasso.cli import options as o
from dplasso.cli.output import reading, say
from dplasso.estimators import load
from dplasso.estimators.coefficients import without_names
from dplasso.reading import read_rows
from dplasso.report import Progress, accuracy_curve, evaluate, write_report
from dplasso.report.weights import is_online


def report(
    model: o.Model,
    output: Annotated[Path, typer.Option("--output", "-o", help="File for the page.")] = Path(
        "report.html"
    ),
    public_data: Annotated[
        Path | None,
        typer.Option(
            help="Public rows with labels, in the form of the training data. They add the accuracy "
            "next to that of the most common class, the ROC, and fits at other epsilons."
        ),
    ] = None,
    metrics: Annotated[
        Path | None,
        typer.Option(
            help="metrics.json of a stream's state: adds how well its rows were predicted. "
            "NOT PRIVATE: such a page is for the data owner only."
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Heading of the page.")] = None,
    zero_based: o.ZeroBased = None,
    labels: o.Labels = None,
    quiet: o.Quiet = False,
) -> None:
    """Write a self-contained HTML page: the guarantee, the coefficients, how the model grew.

    The page of a stream's snapshot shows what is protected, what has expired, and the coefficients.
    """
    o.check_output(output, model, public_data, labels, metrics)
    o.check_replaceable(output, b"<!doctype html", "page")
    if public_data is None and (labels is not None or zero_based is not None):
        raise ValueError("--labels and index options are for --public-data; give that too")
    fitted = load(model)
    evaluation = None
    if public_data is not None:
        with reading(public_data, quiet=quiet) as progress:
            rows = read_rows(
                public_data, like=fitted, zero_based=zero_based, labels=labels, progress=progress
            )
        # Fits to rows in another order would not be this stream.
        curve = None if is_online(fitted) else accuracy_curve(fitted, rows.X, rows.y)
        plain = without_names(fitted)
        evaluation = evaluate(plain, rows.X, rows.y, curve=curve, data_name=public_data.name)
    scores = None if metrics is None else Progress.read(metrics)
    parts = {"evaluation": evaluation, "progress": scores, "title": title}
    write_report(output, fitted, model_file=model, **parts)
    if not quiet:
        say(f"wrote {output}")
