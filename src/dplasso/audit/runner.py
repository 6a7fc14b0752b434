"""Running an audit: which subjects, which checks, how long, and how sure."""

import time
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from dplasso.audit.check import Check
from dplasso.audit.checks.accounting import Accounting
from dplasso.audit.checks.bits import Bits
from dplasso.audit.checks.bound import Bound
from dplasso.audit.checks.canary import Canary
from dplasso.audit.checks.generator import Generator
from dplasso.audit.checks.law import Law
from dplasso.audit.checks.neighbours import Range, Sensitivity
from dplasso.audit.checks.noise import Noise
from dplasso.audit.checks.release import Release
from dplasso.audit.checks.search import Search
from dplasso.audit.examples import subject_of, usual_estimators, variations
from dplasso.audit.representation.check import Representation
from dplasso.audit.representation.parties import Parties
from dplasso.audit.representation.tables import Tables
from dplasso.audit.selection.count import Count
from dplasso.audit.selection.envelope import Envelope
from dplasso.audit.session import Session
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
        Accounting(),
        Range(),
        Envelope(),
        Sensitivity(),
        Release(),
        Bound(),
        Representation(),
        Parties(),
        Tables(),
        Search(),
        Generator(),
        Bits(),
        Count(),
        Law(),
        Noise(),
        Canary(),
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
    subjects = subjects_of(estimator, mode)
    jobs = jobs_of(subjects, checks)
    root = np.random.SeedSequence(_seed(seed))
    sources = [own.spawn(2) for own in root.spawn(len(jobs))]
    error = FALSE_ALARM / max(sum(job.tests for job in jobs), 1)
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


class Job(NamedTuple):
    """One check of one subject."""

    check: Check[Any]
    subject: Subject

    @property
    def tests(self) -> int:
        """How many of its verdicts are left to chance."""
        return self.check.tests_of(self.subject)

    @property
    def weight(self) -> float:
        """The part of the time that it asks for, relative to the others."""
        return self.check.share * self.subject.weight


def jobs_of(subjects: Sequence[Subject], checks: Sequence[str] | None = None) -> list[Job]:
    """The checks that `run` makes of these subjects, in order; of all checks, or of those named."""
    jobs = [
        Job(check, subject)
        for check in _chosen(checks)
        for k, subject in enumerate(subjects)
        if check.is_for(subject) and not (check.once and k)
    ]
    if not jobs:
        raise ValueError("checks must fit the estimator, none of those named does; name others")
    return jobs


def subjects_of(estimator: Any, mode: Mode) -> list[Subject]:
    """The subjects that `run` audits, each under a name of its own."""
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
