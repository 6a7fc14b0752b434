"""``dplasso audit``: does the installed code keep what it promises?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dplasso.cli import options as o
from dplasso.cli.output import emit, say
from dplasso.cli.rescue import kept
from dplasso.estimators import load
from dplasso.losses import CLASS_LOSSES
from dplasso.storage.atomic import replace_file

if TYPE_CHECKING:
    from dplasso.audit import AuditReport

ALARM = 3  # what the command exits with
KINDS = ("classifier", "regressor", "multinomial")
Checks = Annotated[
    list[str] | None,
    typer.Option(
        "--check",
        help="One of accounting, range, envelope, sensitivity, bound, release, representation, "
        "search, parties, generator, bits, count, law, noise, canary. For several: --check law "
        "--check noise.",
    ),
]


def audit(
    estimator: Annotated[
        str, typer.Option(help="classifier, regressor, multinomial, or all.")
    ] = "all",
    solver: Annotated[
        str, typer.Option(help="frank_wolfe, gradient, select, online (for streams), or all.")
    ] = "all",
    loss: Annotated[
        str | None, typer.Option(help=f"Of classifiers of two classes: {', '.join(CLASS_LOSSES)}.")
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(help="A saved model, also of a stream: its parameters are audited."),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option("--epsilon", "-e", help="The claim: 1 unless told, 8 of descents."),
    ] = None,
    delta: Annotated[float, typer.Option(help="The claim.")] = 1e-6,
    x_bound: Annotated[float, typer.Option(help="Public bound on entries.")] = 1.0,
    rows: Annotated[
        str | None, typer.Option(help="as_is, presence, sqrt or blend: how entries are read.")
    ] = None,
    neighboring: Annotated[str, typer.Option(help="add_remove or replace_one.")] = "add_remove",
    rounds: Annotated[
        int | None,
        typer.Option(
            *("--rounds", "--max-iter", "-T"), min=1, help="Rounds of Frank-Wolfe: 16 unless told."
        ),
    ] = None,
    radius: Annotated[
        float | None, typer.Option(help="Bound on the 1-norm, of Frank-Wolfe: 5 unless told.")
    ] = None,
    intercept: Annotated[bool, typer.Option(help="Fit an intercept.")] = True,
    selection: Annotated[str | None, typer.Option(help="Rule of Frank-Wolfe.")] = None,
    thorough: Annotated[
        bool,
        typer.Option(
            "--thorough/--quick", help="All rules and relations, for as long as --minutes says."
        ),
    ] = False,
    minutes: Annotated[
        float | None, typer.Option(help="How long a thorough audit takes: 10 unless told.")
    ] = None,
    check: Checks = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Makes the audit repeatable.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where a report in JSON goes.")
    ] = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Audit the installed code: exit 0 without alarm, 3 with one. Reads no data, spends no budget.

    No alarm is not a proof. docs/audit.md says what each check can find.
    """
    from dplasso.audit import run  # other commands need not wait for it

    if output is not None:
        o.check_output(output)
    common = {
        "epsilon": epsilon,
        "delta": delta,
        "x_bound": x_bound,
        "rows": rows,
        "neighboring": neighboring,
    }
    by_rounds = {
        "max_iter": rounds,
        "radius": radius,
        "selection": selection,
        "fit_intercept": None if intercept else False,
    }
    report = run(
        _with_loss(loss, estimator, solver, _given(common), _given(by_rounds), thorough=thorough)
        if model is None
        else _saved(model, estimator, solver, loss),
        mode="thorough" if thorough else "quick",
        seconds=_seconds(minutes, thorough),
        seed=seed,
        checks=check,
        progress=not (quiet or json),
    )
    if output is not None:
        content = report.to_json().encode()
        kept(output, lambda place: replace_file(place, content, released=True), "report")
    _tell(report, output, json, quiet)
    if not report.passed:
        raise typer.Exit(ALARM)


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _saved(model: Path, kind: str, solver: str, loss: str | None) -> Any:
    """The model of a file, which stands for its parameters."""
    if (kind, solver, loss) != ("all", "all", None):
        raise ValueError("--model says what is audited; leave out --estimator, --solver and --loss")
    return load(model)


def _with_loss(
    loss: str | None,
    kind: str,
    solver: str,
    common: dict[str, Any],
    by_rounds: dict[str, Any],
    *,
    thorough: bool,
) -> list[Any]:
    """The estimators; where a loss is named, classifiers of two classes with that loss."""
    if loss is None:
        return _estimators(kind, solver, common, by_rounds, thorough)
    if kind not in ("all", "classifier"):
        raise ValueError(f"--loss is of classifiers of two classes; leave out --estimator {kind}")
    found = _estimators("classifier", solver, common, by_rounds, thorough)
    return [estimator.set_params(loss=loss) for estimator in found]


def _estimators(
    kind: str, solver: str, common: dict[str, Any], own: dict[str, Any], thorough: bool
) -> list[Any]:
    """Examples of the kinds and solvers named; ``own`` are options that some solvers have."""
    from dplasso.audit.examples import named_estimators, usual_estimators
    from dplasso.audit.registry import SUBJECTS

    for option, value, known in (("estimator", kind, KINDS), ("solver", solver, tuple(SUBJECTS))):
        if value not in (*known, "all"):
            raise ValueError(f"--{option} must be one of {', '.join(known)}, or all, got {value!r}")
    if kind == solver == "all":
        return usual_estimators(common, own, thorough=thorough)
    if solver != "all" and not set(own) <= SUBJECTS[solver].options:
        having = [name for name, subject in SUBJECTS.items() if set(own) <= subject.options]
        raise ValueError(
            "--rounds, --radius, --selection and --no-intercept are for --solver "
            f"{' or '.join(having)}; a descent or stream has a length of its own and an "
            "intercept, leave them out"
        )
    place = None if kind == "all" else KINDS.index(kind)
    found = named_estimators(place, None if solver == "all" else solver, common, own)
    if not found:
        raise ValueError(f"--solver {solver} has no {kind}; name another estimator")
    return found


def _seconds(minutes: float | None, thorough: bool) -> float | None:
    if minutes is None:
        return None
    if not thorough:
        raise ValueError("--minutes is for --thorough; a quick audit makes a fixed number of runs")
    if not 0.0 < minutes < 1e6:
        raise ValueError(f"--minutes must be a number above 0, got {minutes!r}")
    return 60.0 * minutes


def _tell(report: "AuditReport", output: Path | None, json: bool, quiet: bool) -> None:
    if json:
        emit(report.to_dict())
    elif not quiet or not report.passed:
        say(str(report))
        if output is not None:
            say(f"wrote {output}")
