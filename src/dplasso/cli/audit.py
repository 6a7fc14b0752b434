"""``dplasso audit``: does the installed code keep what it promises?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dplasso.cli import options as o
from dplasso.cli.output import emit, say
from dplasso.storage.atomic import replace_file

if TYPE_CHECKING:
    from dplasso.audit import AuditReport

ALARM = 3  # what the command exits with
KINDS = ("classifier", "regressor", "multinomial")
Checks = Annotated[
    list[str] | None,
    typer.Option(
        "--check",
        help="One of accounting, range, release, generator, count, law, canary. May repeat.",
    ),
]


def audit(
    estimator: Annotated[
        str, typer.Option(help="classifier, regressor, multinomial, or all.")
    ] = "all",
    epsilon: Annotated[float, typer.Option("--epsilon", "-e", help="The claim.")] = 1.0,
    delta: Annotated[float, typer.Option(help="The claim.")] = 1e-6,
    rounds: Annotated[int, typer.Option("--rounds", "--max-iter", "-T", help="Rounds.")] = 16,
    radius: Annotated[float, typer.Option(help="Bound on the 1-norm.")] = 5.0,
    x_bound: Annotated[float, typer.Option(help="Public bound on entries.")] = 1.0,
    intercept: Annotated[bool, typer.Option(help="Fit an intercept.")] = True,
    neighboring: Annotated[str, typer.Option(help="add_remove or replace_one.")] = "add_remove",
    selection: Annotated[str, typer.Option(help="Rule of the engine.")] = "lazy",
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
    seed: Annotated[int | None, typer.Option(help="Makes the audit repeatable.")] = None,
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
        "max_iter": rounds,
        "radius": radius,
        "x_bound": x_bound,
        "fit_intercept": intercept,
        "neighboring": neighboring,
        "selection": selection,
    }
    report = run(
        _estimators(estimator, common),
        mode="thorough" if thorough else "quick",
        seconds=_seconds(minutes, thorough),
        seed=seed,
        checks=check,
        progress=not (quiet or json),
    )
    if output is not None:
        replace_file(output, report.to_json().encode())
    _tell(report, output, json, quiet)
    if not report.passed:
        raise typer.Exit(ALARM)


def _estimators(kind: str, common: dict[str, Any]) -> list[Any]:
    if kind not in (*KINDS, "all"):
        known = ", ".join(KINDS)
        raise ValueError(f"--estimator must be one of {known}, or all, got {kind!r}")
    from dplasso.audit import example_estimators

    made = dict(zip(KINDS, example_estimators(**common), strict=True))
    return list(made.values()) if kind == "all" else [made[kind]]


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
