"""``dplasso report``: one page about a model."""

from pathlib import Path
from typing import Annotated

import typer

from dplasso.cli import options as o
from dplasso.cli.output import say
from dplasso.cli.scoring import nameless, rows_for
from dplasso.estimators import load
from dplasso.report import Progress, accuracy_curve, evaluate, write_report
from dplasso.report.weights import is_online


def report(
    model: o.Model,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page.")] = Path("report.html"),
    public_data: Annotated[
        Path | None,
        typer.Option(
            help="Public rows with labels, in the form of the training data: adds accuracy beside "
            "the commonest class, the ROC, and fits of the same settings at other epsilons."
        ),
    ] = None,
    metrics: Annotated[
        Path | None,
        typer.Option(
            help="metrics.json of a stream's state: adds how well its rows were predicted. "
            "NOT PRIVATE: such a page is for whom the rows belong to."
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Heading of the page.")] = None,
    zero_based: o.ZeroBased = None,
    labels: o.Labels = None,
    quiet: o.Quiet = False,
) -> None:
    """Write a self-contained HTML page: the guarantee, the coefficients, how the model grew.

    Of a stream's snapshot: what is protected and what has expired, and the coefficients.
    """
    o.check_output(output, model, public_data, labels, metrics)
    o.check_replaceable(output, b"<!doctype html", "page")
    if public_data is None and (labels is not None or zero_based is not None):
        raise ValueError("--labels and index options are of --public-data; give that too")
    fitted = load(model)
    evaluation = None
    if public_data is not None:
        X, y = rows_for(
            fitted, public_data, zero_based=zero_based, labels=labels, labelled=True, quiet=quiet
        )
        # Fits to rows in another order would not be this stream.
        curve = None if is_online(fitted) else accuracy_curve(fitted, X, y)
        evaluation = evaluate(nameless(fitted), X, y, curve=curve, data_name=public_data.name)
    progress = None if metrics is None else Progress.read(metrics)
    parts = {"evaluation": evaluation, "progress": progress, "title": title}
    write_report(output, fitted, model_file=model, **parts)
    if not quiet:
        say(f"wrote {output}")
