"""``dplasso online``: learn from a stream row by row, and continue after a crash."""

import itertools
import json
import math
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from dplasso.base.wording import ParameterError
from dplasso.cli import options as o
from dplasso.cli.output import say, warn, watched
from dplasso.cli.signals import heeded
from dplasso.cli.stream_view import StreamView
from dplasso.estimators import PrivateOnlineClassifier, PrivateOnlineRegressor
from dplasso.ledger import Budget
from dplasso.losses import CLASS_LOSSES
from dplasso.privacy import leaks
from dplasso.reading.line_source import LineSource
from dplasso.reading.options import check_overlap
from dplasso.schema import FeatureSpace, Schema
from dplasso.session import StreamSession

_BEGINS = ("start", "here")


def online(
    data: Annotated[
        Path | None,
        typer.Argument(
            help="A file with one row per line; standard input by default.", show_default=False
        ),
    ] = None,
    state: Annotated[
        Path,
        typer.Option(help="Folder to continue from after a stop or crash. AS SECRET AS THE ROWS."),
    ] = Path("dplasso-state"),
    epsilon: o.Epsilon = 1.0,
    delta: o.Delta = 1e-6,
    window: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=o.MOST_ROWS,
            help="Number of most recent rows that are protected; by default all, forever.",
        ),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(
            "--rows", min=1, max=o.MOST_ROWS, help="Without a window: largest number of rows."
        ),
    ] = None,
    batch: Annotated[int, typer.Option(min=1, max=o.MOST_ROWS, help="Rows per release.")] = 1,
    features: o.Features = None,
    classes: o.Classes = None,
    regression: o.Regression = False,
    y_bound: o.YBound = None,
    form: Annotated[
        str | None,
        typer.Option("--format", help="svmlight (the default), jsonl, or csv (with --schema)."),
    ] = None,
    schema: o.SchemaFile = None,
    target: Annotated[
        str | None, typer.Option(help="Name of the label in a JSON object; y by default.")
    ] = None,
    zero_based: o.ZeroBased = None,
    loss: Annotated[str | None, typer.Option(help=f"{', '.join(CLASS_LOSSES)}.")] = None,
    domain: Annotated[str, typer.Option(help="l2, l1, simplex or box.")] = "l2",
    radius: Annotated[str, typer.Option(help="Size of the set of weights, or auto.")] = "auto",
    learner: Annotated[
        str, typer.Option(help="projection, or oracle (local linear steps).")
    ] = "projection",
    clip: Annotated[
        str, typer.Option(help="Bound on the length of a row's gradient, or auto.")
    ] = "auto",
    regularisation: Annotated[
        str, typer.Option(help="L2 term in the loss of every row, or auto.")
    ] = "auto",
    row_map: Annotated[
        str, typer.Option(help="unit (rows are scaled to length 1), or as_is.")
    ] = "unit",
    half_life: Annotated[
        float | None,
        typer.Option(help="Number of rows after which a row counts half; by default none fades."),
    ] = None,
    neighboring: Annotated[
        str,
        typer.Option(help="add_remove: a row or nothing; replace_one: a row or another one."),
    ] = "add_remove",
    construction: Annotated[
        str,
        typer.Option(help="Noise construction: auto, buffered, blocks, band, tree or window_tree."),
    ] = "auto",
    noise: Annotated[
        str, typer.Option(help="gaussian, or gamma (no delta, far more noise).")
    ] = "gaussian",
    calibration: Annotated[
        str, typer.Option(help="tight, or paper (the published noise, many times as much).")
    ] = "tight",
    output: o.Predictions = None,
    proba: o.Proba = False,
    raw: o.Raw = False,
    model: Annotated[
        Path | None, typer.Option(help="File for snapshots to predict with, which are public.")
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(
            help="HTML page that shows accuracy and spent privacy while the stream runs. "
            "AS SECRET AS THE ROWS."
        ),
    ] = None,
    every: Annotated[int, typer.Option(min=1, help="Rows between states and snapshots.")] = 10_000,
    follow: Annotated[bool, typer.Option("--follow", help="Wait for the file to grow.")] = False,
    stdin_from: Annotated[
        str | None,
        typer.Option(
            help="To continue: standard input has all rows again (start), or the next ones (here)."
        ),
    ] = None,
    received: Annotated[
        int | None,
        typer.Option(min=0, help="To continue: number of predictions that you received."),
    ] = None,
    position: Annotated[
        bool, typer.Option("--position", help="Show how much of the input was read, and stop.")
    ] = False,
    budget: o.Ledger = None,
    seed: o.Seed = None,
    force: o.Force = False,
    strict: o.Strict = False,
    quiet: o.Quiet = False,
) -> None:
    """Learn from a stream of rows, each predicted before it is learned from.

    Predictions are for the data owner only; the weights (--model) are private. The command stops
    cleanly on SIGTERM and SIGINT, and the same command continues after any stop.
    """
    if position:
        say(json.dumps(StreamSession.position(state)))
        return
    if strict:
        leaks.set_strict(True)
    _check_outputs(output, model, page, data, budget)
    form, table = form or ("svmlight" if schema is None else "csv"), None
    if schema is not None:
        table = Schema.from_toml(schema)
        told: dict[str, object] = {
            "n_rows": rows,
            "target": target,
            "classes": classes,
        }
        told |= {"y_bound": y_bound, "regression": regression or None}
        check_overlap(told, table)
        if features is not None:
            raise ParameterError("{n_features} follow from the columns of {schema}; leave it out")
        table.check_filled()
        features, bounds = FeatureSpace(table).size, table.labels.bounds
        rows, regression = rows or table.n_rows, bounds is not None
        y_bound = None if bounds is None else max(map(abs, bounds))
    common: dict[str, Any] = {
        "delta": delta,
        "window": window,
        "n_rows": rows,
        "batch": batch,
        "domain": domain,
        "radius": o.auto_or_number("--radius", radius),
        "learner": learner,
        "clip": o.auto_or_number("--clip", clip),
        "regularisation": o.auto_or_number("--regularisation", regularisation),
        "row_map": row_map,
        "half_life": half_life,
        "neighboring": neighboring,
        "construction": construction,
        "noise": noise,
        "calibration": calibration,
        "n_features": features,
        "random_state": seed,
    }
    declared = _classes(classes, form) if table is None else table.labels.classes
    estimator = _learner(epsilon, declared, y_bound, regression, loss, common)
    if math.isinf(epsilon):
        warn("epsilon = inf: the model is not private")
    # The input is opened first: a missing one costs nothing.
    with (
        LineSource(data, follow=follow) as source,
        StreamSession(
            state,
            estimator,
            format=form,
            target=target or "y",
            schema=table,
            zero_based=bool(zero_based),
            output=output,
            proba=proba,
            raw=raw,
            snapshot=model,
            every=every,
        ) as session,
    ):
        _check_ways_on(session.continues, data, stdin_from, output, received)
        for path in (output, model):
            if path is not None and not session.continues:
                o.check_unused(path, force)
        if budget is not None and not session.continues:
            estimator.accountant = Budget.open(budget).labelled(state.absolute().name[:100])
        session.start(received=(received or 0) if output is None else None)
        if data is not None or stdin_from == "start":
            source.skip(session.input_bytes)
        for number in (signal.SIGINT, *heeded()):
            signal.signal(number, lambda *_: session.stop())
        # Predictions that scroll through the same terminal would tear the line apart.
        line = watched() and not quiet and (output is not None or not sys.stdout.isatty())
        view = StreamView(session, line=line, page=page)
        try:
            session.run(source, watch=view.look)
        finally:
            view.end(quiet=quiet)


def _check_outputs(
    output: Path | None,
    model: Path | None,
    page: Path | None,
    data: Path | None,
    budget: str | None,
) -> None:
    """Reject outputs that cannot be written or would overwrite an input, before any charge."""
    ledger = None if budget is None else Path(budget)
    named = {"--output": output, "--model": model, "--page": page}
    given = {name: path for name, path in named.items() if path is not None}
    for path in given.values():
        o.check_output(path, data, ledger)
    if model is not None:
        o.check_replaceable(model, b"dplasso-model", "model")
    if page is not None:
        o.check_replaceable(page, b"<!doctype html>", "page")
    for one, other in itertools.combinations(given, 2):
        if given[one].resolve() == given[other].resolve():
            raise ValueError(f"{one} and {other} are the same file; give two names")


def _classes(classes: str | None, form: str) -> list[Any] | None:
    declared = o.classes_of(classes)
    return declared if declared is None or form == "jsonl" else list(o.numbers_of(declared))


def _learner(
    epsilon: float,
    classes: Sequence[Any] | None,
    y_bound: float | None,
    regression: bool,
    loss: str | None,
    common: dict[str, Any],
) -> PrivateOnlineClassifier | PrivateOnlineRegressor:
    if regression:
        return PrivateOnlineRegressor(epsilon, y_bound=y_bound, loss=loss or "squared", **common)
    return PrivateOnlineClassifier(epsilon, classes=classes, loss=loss or "logistic", **common)


def _check_ways_on(
    exists: bool,
    data: Path | None,
    stdin_from: str | None,
    output: Path | None,
    received: int | None,
) -> None:
    """Require what only the caller knows about pipes, if a stream continues."""
    if stdin_from not in (None, *_BEGINS):
        raise ValueError(f"--stdin-from must be start or here, got {stdin_from!r}")
    if not exists:
        return
    if data is None and stdin_from is None:
        raise ValueError(
            "the stream continues, and standard input may have all rows again or only the next "
            "ones; give --stdin-from start, or --stdin-from here (--position shows from where)"
        )
    if output is None and received is None:
        raise ValueError(
            "the stream continues, and predictions may have been lost on their way; give the "
            "number that you received as --received, or write them to a file with --output"
        )
