"""``dplasso audit``: does the installed code keep its guarantees?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dplasso.cli import options as o
from dplasso.cli.output import emit, say
from dplasso.cli.rescue import kept
from dplasso.cli.signatures import with_former
from dplasso.estimators import load
from dplasso.losses import CLASS_LOSSES
from dplasso.storage.atomic import replace_file

if TYPE_CHECKING:
    from dplasso.audit import AuditReport

ALARM = 3  # exit code
KINDS = ("classifier", "regressor", "multinomial")
Checks = Annotated[
    list[str] | None,
    typer.Option(
        "--check",
        help="One of accounting, range, envelope, sensitivity, bound, people, release, "
        "representation, search, parties, tables, generator, bits, count, law, noise, "
        "canary. For several: --check law --check noise.",
    ),
]


@with_former({"rounds": "max_iter", "rows": "row_map"})
def audit(
    estimator: Annotated[
        str, typer.Option(help="classifier, regressor, multinomial, or all.")
    ] = "all",
    solver: Annotated[
        str,
        typer.Option(help="frank_wolfe, gradient, table, select, online (for streams), or all."),
    ] = "all",
    loss: Annotated[
        str | None,
        typer.Option(help=f"Loss of classifiers of two classes: {', '.join(CLASS_LOSSES)}."),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(help="A model file, also of a stream, whose parameters are audited."),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option("--epsilon", "-e", help="Epsilon to audit; by default 1, and 8 for descents."),
    ] = None,
    delta: Annotated[float, typer.Option(help="Delta to audit.")] = 1e-6,
    x_bound: Annotated[float, typer.Option(help="Public bound on entries.")] = 1.0,
    row_map: Annotated[
        str | None, typer.Option(help="Map of entries: as_is, presence, sqrt or blend.")
    ] = None,
    neighboring: o.Neighboring = "add_remove",
    max_iter: Annotated[
        int | None,
        typer.Option("--max-iter", "-T", min=1, help="Rounds of Frank-Wolfe; 16 by default."),
    ] = None,
    radius: Annotated[
        float | None, typer.Option(help="Bound on the 1-norm for Frank-Wolfe; 5 by default.")
    ] = None,
    intercept: Annotated[bool, typer.Option(help="Fit an intercept.")] = True,
    selection: Annotated[str | None, typer.Option(help="Selection rule of Frank-Wolfe.")] = None,
    thorough: Annotated[
        bool,
        typer.Option("--thorough/--quick", help="Audit all rules and relations, for --minutes."),
    ] = False,
    minutes: Annotated[
        float | None, typer.Option(help="Duration of a thorough audit; 10 by default.")
    ] = None,
    check: Checks = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Makes the audit repeatable.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File for a report in JSON.")
    ] = None,
    force: o.Force = False,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Audit the installed code: exit 0 without alarm, 3 with one. Reads no data, spends no budget.

    No alarm is not a proof. "Audit" in the documentation says what each check can find.
    """
    from dplasso.audit import run  # other commands need not wait for it

    if output is not None:
        o.check_output(output)
        o.check_unused(output, force)
    common = {
        "epsilon": epsilon,
        "delta": delta,
        "x_bound": x_bound,
        "row_map": row_map,
        "neighboring": neighboring,
    }
    by_rounds = {
        "max_iter": max_iter,
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
    """Return the model of a file, whose parameters are audited."""
    if (kind, solver, loss) != ("all", "all", None):
        raise ValueError("--model sets what is audited; leave out --estimator, --solver and --loss")
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
    """Return the estimators; if a loss is given, only classifiers of two classes with it."""
    if loss is None:
        return _estimators(kind, solver, common, by_rounds, thorough)
    if kind not in ("all", "classifier"):
        raise ValueError(f"--loss is for classifiers of two classes; leave out --estimator {kind}")
    found = _estimators("classifier", solver, common, by_rounds, thorough)
    return [estimator.set_params(loss=loss) for estimator in found]


def _estimators(
    kind: str, solver: str, common: dict[str, Any], own: dict[str, Any], thorough: bool
) -> list[Any]:
    """Return examples of the given kinds and solvers; ``own`` are options of some solvers."""
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
            "--max-iter, --radius, --selection and --no-intercept are for --solver "
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
