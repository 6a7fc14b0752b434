"""Running an audit: which subjects, which checks, how long, and how sure."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
from sklearn.base import clone

from dplasso.audit.accounting import Accounting
from dplasso.audit.canary import Canary
from dplasso.audit.check import Check, Session
from dplasso.audit.count import Count
from dplasso.audit.generator import Generator
from dplasso.audit.law import Law
from dplasso.audit.range_test import RangeTest
from dplasso.audit.release import Release
from dplasso.audit.subject import Subject
from dplasso.audit.verdict import AuditReport, Verdict
from dplasso.estimators import PrivateLassoClassifier, PrivateLassoRegressor, Sparsifier
from dplasso.mechanisms.random_bits import random_bits
from dplasso.mechanisms.selection import PRIVATE
from dplasso.privacy import checks as numbers

Mode = Literal["quick", "thorough"]

# The one place where checks are listed; what other parts of the product release is added here.
CHECKS: dict[str, Check] = {
    check.name: check
    for check in (Accounting(), RangeTest(), Release(), Generator(), Count(), Law(), Canary())
}
FALSE_ALARM = 1e-4  # chance that correct code alarms anywhere in an audit, at most
QUICK_SECONDS, THOROUGH_SECONDS = 40.0, 600.0


def run(
    estimator: Any = None,
    *,
    mode: Mode = "quick",
    seconds: float | None = None,
    seed: int | None = None,
    checks: Sequence[str] | None = None,
    progress: bool = False,
) -> AuditReport:
    """Audit the installed code on an estimator's configuration; no budget is spent.

    Parameters
    ----------
    estimator : an unfitted classifier or regressor, or several; None for a binary classifier
        with a Sparsifier, a regressor and a classifier of three classes. The audit makes data of
        its own.
    mode : "quick" makes a fixed number of runs, in well under a minute. "thorough" also audits
        both neighbouring relations and all selection rules, and makes as many runs as time allows.
    seconds : about how long a thorough audit takes, 600 by default; the most that a quick one does.
    seed : makes data and noise repeatable. None: fits are drawn with secure bits, as real ones.
    checks : names of the checks to make, of ``dplasso.audit.CHECKS``; all by default.
    progress : show a bar, where standard error is a terminal.

    Formal guarantees
    -----------------
    Reads no data of yours. Correct code alarms with probability at most 1e-4 in all: that is
    shared out among all tests beforehand, and numbers of runs are fixed before one counts.

    Examples
    --------
    >>> import dplasso
    >>> report = dplasso.audit.run(checks=["accounting"])
    >>> report.passed
    True
    """
    subjects = _subjects(estimator, mode)
    chosen = _chosen(checks)
    jobs = [
        (check, subject)
        for check in chosen
        for k, subject in enumerate(subjects)
        if check.applies(subject) and not (check.once and k)
    ]
    given = numbers.bound("seconds", _seconds(mode) if seconds is None else seconds)
    error = FALSE_ALARM / max(sum(check.tests for check, _ in jobs), 1)
    all_shares = sum(check.share for check, _ in jobs)
    root = np.random.SeedSequence(_seed(seed))
    verdicts: list[Verdict] = []
    with _bar(len(jobs), shown=progress) as tell:
        for k, ((check, subject), own) in enumerate(zip(jobs, root.spawn(len(jobs)), strict=True)):
            data, noise = own.spawn(2)
            session = Session(
                subject=subject,
                rng=np.random.default_rng(data),
                bits=random_bits(None if seed is None else int(noise.generate_state(1)[0])),
                error=error,
                seconds=given * check.share / max(all_shares, 1e-9),
                thorough=mode == "thorough",
                tell=lambda part, k=k, check=check: tell(k + part, check.name),  # type: ignore[misc]
            )
            verdicts += check.run(session)
            tell(k + 1.0, check.name)
    return AuditReport(tuple(verdicts), _facts(subjects, mode, seed, chosen))


def example_estimators(**common: Any) -> list[Any]:
    """One of each kind: a binary classifier with a Sparsifier, a regressor, and three classes."""
    common = {"max_iter": 16, "radius": 5.0, **common}
    return [
        PrivateLassoClassifier(classes=[0, 1], sparsify=Sparsifier(), **common),
        PrivateLassoRegressor(**common),
        PrivateLassoClassifier(classes=[0, 1, 2], **common),
    ]


def _subjects(estimator: Any, mode: Mode) -> list[Subject]:
    if mode not in ("quick", "thorough"):
        raise ValueError(f"mode must be 'quick' or 'thorough', got {mode!r}")
    if estimator is None:
        estimators = example_estimators()
    else:
        estimators = list(estimator) if isinstance(estimator, list | tuple) else [estimator]
    if mode == "quick":
        return [Subject(one) for one in estimators]
    return [subject for one in estimators for subject in _variations(one)]


def _variations(estimator: Any) -> Iterator[Subject]:
    """The configuration itself, then the other relation and the other selection rules."""
    first = Subject(estimator)
    yield first
    relations = {"add_remove", "replace_one"} - {estimator.neighboring}
    others: list[dict[str, Any]] = [{"neighboring": relation} for relation in sorted(relations)]
    others += [{"selection": rule} for rule in PRIVATE if rule != estimator.selection]
    if getattr(estimator, "residual_bound", None) == "auto":
        others.append({"residual_bound": 100.0 * float(estimator.y_bound)})
    for other in others:
        (value,) = other.values()
        label = "squared loss" if "residual_bound" in other else value
        yield Subject(clone(estimator).set_params(**other), f"{first.name}, {label}")


def _chosen(names: Sequence[str] | None) -> list[Check]:
    if names is None:
        return list(CHECKS.values())
    if isinstance(names, str) or not names or not set(names) <= set(CHECKS):
        known = ", ".join(repr(name) for name in CHECKS)
        raise ValueError(f"checks must be a list of some of {known}, got {names!r}")
    return [check for name, check in CHECKS.items() if name in names]


def _seconds(mode: Mode) -> float:
    return QUICK_SECONDS if mode == "quick" else THOROUGH_SECONDS


def _seed(seed: int | None) -> int | None:
    return None if seed is None else numbers.count("seed", seed, least=0)


def _facts(
    subjects: list[Subject], mode: Mode, seed: int | None, chosen: list[Check]
) -> dict[str, Any]:
    from dplasso import __version__

    return {
        "version": __version__,
        "mode": mode,
        "seed": seed,
        "false_alarm": FALSE_ALARM,
        "checks": [check.name for check in chosen],
        "estimators": [subject.to_dict() for subject in subjects],
    }


@contextmanager
def _bar(total: int, *, shown: bool) -> Iterator[Any]:
    """A callback that takes checks done, parts included, and what is being done."""
    if not shown:
        yield lambda done, name: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description:<10}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("audit", total=total)
        yield lambda done, name: bar.update(task, completed=done, description=name)
