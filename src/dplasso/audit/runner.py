"""Run an audit: choose its subjects, its checks, its duration and its error probability."""

import time
import warnings
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import Any, Literal, NamedTuple

import numpy as np
from threadpoolctl import ThreadpoolController  # scikit-learn installs it

from dplasso.audit.check import Check
from dplasso.audit.checks import (
    accounting,
    bits,
    bound,
    canary,
    generator,
    law,
    neighbours,
    parties,
    people,
    release,
    representation,
    search,
    tables,
)
from dplasso.audit.examples import subject_of, usual_estimators, variations
from dplasso.audit.selection import count, envelope
from dplasso.audit.session import Session
from dplasso.audit.subject import Subject
from dplasso.audit.verdict import AuditReport, Verdict
from dplasso.base import checks as numbers
from dplasso.base.progress import checks_bar
from dplasso.mechanisms.random_bits import random_bits
from dplasso.privacy import leaks

Mode = Literal["quick", "thorough"]

# The only list of checks; checks of releases by other parts of the product are added here.
CHECKS: dict[str, Check[Any]] = {
    check.name: check
    for check in (
        accounting.Accounting(),
        neighbours.Range(),
        envelope.EnvelopeCheck(),
        neighbours.Sensitivity(),
        release.ReleaseCheck(),
        bound.Bound(),
        people.People(),
        representation.Representation(),
        parties.Parties(),
        tables.Tables(),
        search.Search(),
        generator.Generator(),
        bits.Bits(),
        count.Count(),
        law.Law(),
        law.NoiseCheck(),
        canary.Canary(),
    )
}
FALSE_ALARM = 1e-4  # largest probability that correct code alarms anywhere in an audit
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
    estimator : a classifier or regressor, or several, which may be online; of a fitted or loaded
        one only the parameters are used. None means a binary classifier with a Sparsifier, a
        regressor and a classifier of three classes by Frank-Wolfe, and one classifier each by
        gradient descent, by the table solver, by gradient descent after a selection of columns,
        and for streams (all kinds in a thorough audit). The audit generates its own data.
    mode : "quick" makes a fixed number of runs, in less than a minute. "thorough" also audits
        both neighbouring relations, all maps of rows, all selection rules and all noises of
        streams, and makes as many runs as time allows.
    seconds : approximate duration of a thorough audit, 600 by default. A quick audit does not
        depend on the clock: it can find the same faults on every machine.
    seed : makes data and noise repeatable. If None, fits draw secure bits, as real fits do.
    checks : names of the checks to make, from ``dplasso.audit.CHECKS``; all by default.
    progress : show a bar, where standard error is a terminal.

    Formal guarantees
    -----------------
    The audit reads no data of yours. Correct code alarms with probability at most 1e-4 in total:
    this probability is divided among all tests in advance, and the numbers of runs are fixed before
    any run counts.

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
    root = np.random.SeedSequence(None if seed is None else numbers.count("seed", seed, least=0))
    sources = [own.spawn(2) for own in root.spawn(len(jobs))]
    error = FALSE_ALARM / max(sum(job.tests for job in jobs), 1)
    end, verdicts = time.monotonic() + given, list[Verdict]()
    # Matrices are small: threads of BLAS wait for each other, and cost more time than they save.
    one_thread = ThreadpoolController().limit(limits=1, user_api="blas")
    with one_thread, warnings.catch_warnings(), checks_bar(len(jobs), shown=progress) as tell:
        # The audit's own data are small, whatever a model declared of the rows it was fitted to.
        warnings.simplefilter("ignore", leaks.RowCountWarning)
        warnings.simplefilter("ignore", leaks.OnlyNoiseWarning)
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
            verdicts += list(job.check.run(session)) or [job.without_verdict()]
    facts = {
        "version": import_module("dplasso").__version__,
        "mode": mode,
        "seed": seed,
        "false_alarm": FALSE_ALARM,
        "checks": [check.name for check in _chosen(checks)],
        "estimators": [subject.to_dict() for subject in subjects],
    }
    return AuditReport(tuple(verdicts), facts)


class Job(NamedTuple):
    """One check of one subject."""

    check: Check[Any]
    subject: Subject

    @property
    def tests(self) -> int:
        """Number of its verdicts that are statistical."""
        return self.check.tests_of(self.subject)

    @property
    def weight(self) -> float:
        """The part of the time that it requests, relative to the others."""
        return self.check.share * self.subject.weight

    def without_verdict(self) -> Verdict:
        """The alarm of a check that made no test: what it should have tested is unknown."""
        return Verdict(
            *(self.check.name, self.subject.name, "verdicts of this check", 0.0, 1.0), alarm="below"
        )


def jobs_of(subjects: Sequence[Subject], checks: Sequence[str] | None = None) -> list[Job]:
    """The checks that `run` makes of these subjects, in order: all checks, or those named."""
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
    """The subjects that `run` audits, each with a unique name."""
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
