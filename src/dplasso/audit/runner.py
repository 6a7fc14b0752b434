"""Running an audit: which subjects, which checks, how long, and how sure."""

import time
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from dplasso.audit import descent, few, selection, stream
from dplasso.audit.bits import Bits
from dplasso.audit.bound import Bound
from dplasso.audit.check import Check, EachInItsWay, Session
from dplasso.audit.examples import subject_of, usual_estimators, variations
from dplasso.audit.generator import Generator
from dplasso.audit.representation import Parties, Representation
from dplasso.audit.search import Search
from dplasso.audit.subject import Subject
from dplasso.audit.verdict import AuditReport, Verdict
from dplasso.base import checks as numbers
from dplasso.base.progress import checks_bar
from dplasso.mechanisms.random_bits import random_bits

Mode = Literal["quick", "thorough"]

# The one place where checks are listed; what other parts of the product release is added here.
CHECKS: dict[str, Check[Any]] = {
    check.name: check
    for check in (
        # What is known of descents is known of those on few columns, too: they are asked first.
        EachInItsWay(
            selection.Accounting(), few.Accounting(), descent.Accounting(), stream.Accounting()
        ),
        EachInItsWay(selection.RangeTest(), few.RangeTest()),
        selection.Envelope(),
        EachInItsWay(few.Sensitivity(), descent.Sensitivity(), stream.Sensitivity()),
        EachInItsWay(selection.Release(), few.Release(), descent.Release(), stream.Release()),
        Bound(),
        Representation(),
        Parties(),
        Search(),
        Generator(),
        Bits(),
        selection.Count(),
        EachInItsWay(selection.Law(), few.Law()),
        EachInItsWay(descent.Noise(), stream.Noise(), stream.GammaNoise()),
        EachInItsWay(selection.Canary(), few.Canary(), descent.Canary(), stream.Canary()),
    )
}
FALSE_ALARM = 1e-4  # chance that correct code alarms anywhere in an audit, at most
THOROUGH_SECONDS = 600.0


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
    estimator : a classifier or regressor, or several, online ones among them; a fitted or loaded
        one stands for its parameters. None for a binary classifier with a Sparsifier, a regressor
        and a classifier of three classes by Frank-Wolfe, and a classifier each by gradient descent,
        by a selection of columns before it, and of streams (if thorough, of all kinds that there
        are). The audit makes data of its own.
    mode : "quick" makes a fixed number of runs, in less than a minute. "thorough" also audits
        both neighbouring relations, all maps of rows, all selection rules and all noises of
        streams, and makes as many runs as time allows.
    seconds : about how long a thorough audit takes, 600 by default. A quick one does not look at
        the clock: what it can find is the same on every machine.
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
    given = numbers.bound("seconds", THOROUGH_SECONDS if seconds is None else seconds)
    subjects, jobs = _planned(estimator, mode, checks)
    root = np.random.SeedSequence(_seed(seed))
    sources = [own.spawn(2) for own in root.spawn(len(jobs))]
    error = FALSE_ALARM / max(sum(job.check.tests for job in jobs), 1)
    end, verdicts = time.monotonic() + given, list[Verdict]()
    with checks_bar(len(jobs), shown=progress) as tell:
        for k, (job, (data, noise)) in enumerate(zip(jobs, sources, strict=True)):
            left, due = end - time.monotonic(), sum(later.weight for later in jobs[k:])
            session = Session(
                subject=job.subject,
                rng=np.random.default_rng(data),
                bits=random_bits(None if seed is None else int(noise.generate_state(1)[0])),
                error=error,
                seconds=max(left, 0.0) * job.weight / max(due, 1e-9),
                thorough=mode == "thorough",
                tell=partial(tell, job.check.name, k),
            )
            verdicts += job.check.run(session)
    return AuditReport(tuple(verdicts), _facts(subjects, mode, seed, _chosen(checks)))


def jobs_of(estimator: Any, mode: Mode, checks: Sequence[str] | None) -> list["Job"]:
    """Which checks `run` makes, and of what."""
    return _planned(estimator, mode, checks)[1]


class Job(NamedTuple):
    """One check of one subject."""

    check: Check[Any]
    subject: Subject

    @property
    def weight(self) -> float:
        """What part of the time it asks for, beside the others."""
        return self.check.share * self.subject.weight


def _planned(
    estimator: Any, mode: Mode, checks: Sequence[str] | None
) -> tuple[list[Subject], list[Job]]:
    subjects = _subjects(estimator, mode)
    jobs = [
        Job(asked, subject)
        for check in _chosen(checks)
        for k, subject in enumerate(subjects)
        if (asked := check.asked_of(subject)) is not None and not (check.once and k)
    ]
    if not jobs:
        raise ValueError("checks must fit the estimator, none of those named does; name others")
    return subjects, jobs


def _subjects(estimator: Any, mode: Mode) -> list[Subject]:
    if mode not in ("quick", "thorough"):
        raise ValueError(f"mode must be 'quick' or 'thorough', got {mode!r}")
    if estimator is None:
        estimators = usual_estimators({}, {}, thorough=mode == "thorough")
    else:
        estimators = list(estimator) if isinstance(estimator, list | tuple) else [estimator]
    found = [
        subject
        for one in estimators
        for subject in ([subject_of(one)] if mode == "quick" else variations(one))
    ]
    names = [subject.name for subject in found]
    for k, subject in enumerate(found):
        if names.count(subject.name) > 1:
            subject.name = f"{k + 1}: {names[k]}"
    return found


def _chosen(names: Sequence[str] | None) -> list[Check[Any]]:
    if names is None:
        return list(CHECKS.values())
    if isinstance(names, str) or not names or not set(names) <= set(CHECKS):
        known = ", ".join(repr(name) for name in CHECKS)
        raise ValueError(f"checks must be a list of some of {known}, got {names!r}")
    return [check for name, check in CHECKS.items() if name in names]


def _seed(seed: int | None) -> int | None:
    return None if seed is None else numbers.count("seed", seed, least=0)


def _facts(
    subjects: list[Subject], mode: Mode, seed: int | None, chosen: list[Check[Any]]
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
