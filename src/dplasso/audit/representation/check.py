"""Does the storage of rows affect a release, or another row?"""

import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from dplasso.audit.check import Check
from dplasso.audit.representation.fit_holder import FitHolder
from dplasso.audit.representation.forms import (
    forms_of,
    label_forms_of,
    narrowest,
    orders_of,
    own_forms_of,
    stored,
)
from dplasso.audit.representation.holder import Holder
from dplasso.audit.representation.rows import (
    KINDS,
    ONES,
    rows_of_kind,
    telling_rows,
    ways_to_store,
    with_a_repeat,
)
from dplasso.audit.selection import reference
from dplasso.audit.selection.subject import SelectionSubject, outcomes
from dplasso.audit.session import Session
from dplasso.audit.subject import Subject
from dplasso.audit.synthetic import random_labels
from dplasso.audit.verdict import Verdict
from dplasso.base.arrays import Floats

_ROWS = 40
_NATS = 40.0  # effect of one label's rows on the intercept's log-weight: it is always chosen
_LEAST_WEIGHT = 1e-3  # share of the radius: for smaller weights, rounding matters too much
_ROUNDING = 1e-12
_EVERY = 4  # in a quick audit, one of this many forms is fitted to the end
_NAMED = 6  # most findings that a report names


class Representation(Check[Subject]):
    """Stores the same rows in every possible way; with fixed noise, the releases must agree.

    The forms differ in number types, containers, orders and repeats, in memory or on disk. The
    bounds are that of the configuration and others that are not exact in single precision,
    including bounds by column and a released one; every map of rows is used. All released numbers
    and the statement must agree to the last bit. Then one row is replaced by one that makes a
    loader store all rows differently: the numbers that enter the sums must stay the same for every
    other row, to the last bit, and so must the constant that converts a released weight to an
    intercept. The check is deterministic except for the rows. It finds a bound, a constant, a
    rounding or a choice of method that depends on the storage of a matrix. It cannot find effects
    of storage on time and memory.
    """

    name = "representation"

    def run(self, session: Session[Subject]) -> Iterator[Verdict]:
        holders = session.subject.holders()
        with tempfile.TemporaryDirectory() as folder:
            yield from compared(self, session, holders, _labels(session), Path(folder))
        subject = session.subject
        if isinstance(subject, SelectionSubject) and subject.facts.fit_intercept:
            fits = [holder for holder in holders if isinstance(holder, FitHolder)]
            yield _constants(self, subject, fits, session.rng)


def compared(
    check: Check[Any],
    session: Session[Any],
    holders: Sequence[Holder],
    labels: Callable[[int], Any],
    folder: Path,
) -> Iterator[Verdict]:
    """Verdicts on the effects of storage on releases and on other rows."""
    changed, moved = _Findings(), _Findings()
    for k, holder in enumerate(holders):

        def rows(turn: int, holder: Holder = holder) -> Floats:
            kind = KINDS[turn % len(KINDS)]
            return rows_of_kind(kind, holder.rows, holder.columns, holder.bound, session.rng)

        every = 1 if session.thorough else _EVERY
        _compare_forms(session, holder, rows(k), labels(holder.rows), folder, changed, k, every)
        X, y = rows(k + 1), labels(holder.rows)
        if k % len(KINDS) == 0:
            _compare_orders(holder, X, y, changed)
        for row in telling_rows(holder.columns, holder.bound, session.rng):
            _compare_rows(holder, X, row, y, folder, moved)
        session.tell((k + 1) / len(holders))
    yield changed.verdict(check, session, "releases that storage changes")
    yield moved.verdict(check, session, "rows that the storage of another row changes")


class _Findings:
    """How many comparisons were made, and which of them failed."""

    def __init__(self) -> None:
        self.made, self.failed, self.names = 0, 0, list[str]()

    def add(self, name: str, failed: int) -> None:
        self.made += 1
        self.failed += failed
        if failed and name not in self.names:
            self.names.append(name)

    def verdict(self, check: Check[Any], session: Session[Any], tested: str) -> Verdict:
        return Verdict(
            check.name,
            session.subject.name,
            tested,
            self.failed,
            0.0,
            runs=self.made,
            details={"found": self.names[:_NAMED]} if self.names else {},
        )


def _compare_forms(
    session: Session[Any],
    holder: Holder,
    X: Floats,
    y: Any,
    folder: Path,
    found: _Findings,
    turn: int,
    every: int,
) -> None:
    """Count the ways to store the same rows and labels that change something released.

    The rows that are held determine the releases; in turns, forms are also fitted to the end.
    """
    seed = int(session.rng.integers(1 << 31))
    ways = [(name, form, y) for name, form in forms_of(X)]
    if holder.own_bound is not None:
        own = own_forms_of(X, np.zeros(len(X)), holder.own_bound, folder)
        ways += [(name, form, y) for name, form in own]
    ways += [(name, X, form) for name, form in label_forms_of(y)]
    held, released = holder.held(X, y), holder.released(X, y, seed)
    for place, (name, rows, labels) in enumerate(ways):
        try:
            same = np.array_equal(holder.held(rows, labels), held)
            if (place + turn) % every == 0:
                same = same and holder.released(rows, labels, seed) == released
        except Exception:  # rows accepted in one form must be accepted in all
            same = False
        found.add(f"{name}; {holder.named or 'as given'}", int(not same))


def _compare_orders(holder: Holder, X: Floats, y: Any, found: _Findings) -> None:
    """Count the orders of a row's repeated entries that change the held rows."""
    (_, first), *others = orders_of(X)
    held = holder.held(first, y)
    for name, rows in others:
        same = np.array_equal(holder.held(rows, y), held)
        found.add(f"{name}; {holder.named or 'as given'}", int(not same))


def _compare_rows(
    holder: Holder, X: Floats, row: Floats, y: Any, folder: Path, found: _Findings
) -> None:
    """Count rows that change when another last row decides how all rows are stored."""
    other, last = X.copy(), len(X) - 1
    other[last] = row
    held = holder.held(narrowest(X), y)[:last]
    ways = dict(ways_to_store(other)) | {"with a repeat": with_a_repeat(other)}
    if holder.own_bound is not None and np.ndim(holder.own_bound) == 0:
        ways["store"] = stored(sp.csr_array(other), np.zeros(len(X)), holder.own_bound, folder)
    for name, rows in ways.items():
        try:
            changed = int(np.any(holder.held(rows, y)[:last] != held, axis=1).sum())
        except Exception:  # one row must not cause all others to be rejected
            changed = last
        found.add(f"{name}; {holder.named or 'as given'}", changed)


def _constants(
    check: Check[Any],
    subject: SelectionSubject,
    holders: Sequence[FitHolder],
    rng: np.random.Generator,
) -> Verdict:
    """The spread of the constants that convert weights to intercepts in fits with one bound."""
    facts = subject.facts
    crowd = int(min(_NATS / (facts.theta * facts.held_bound * facts.gradient_bound), 4000.0))
    y = subject.labels(np.zeros(crowd) if facts.classes else np.full(crowd, facts.y_bound))
    found: dict[Any, list[float]] = defaultdict(list)
    for k, holder in enumerate(holders):
        X = np.zeros((crowd, holder.columns))
        X[:_ROWS] = rows_of_kind(ONES, _ROWS, holder.columns, 1.0, rng)
        told = [X]
        for row in telling_rows(holder.columns, holder.bound, rng):
            told.append(X.copy())
            told[-1][-1] = row
        for rows in told:
            _, form = list(ways_to_store(rows))[k % 2]
            model = holder.fitted(form, y, int(rng.integers(1 << 31)))
            bound = model.privacy_["bounds"]["x_bound"]["value"]
            found[holder.named, bound] += _constants_of(model, subject)
    apart = [max(values) / min(values) - 1.0 for values in found.values() if values]
    return Verdict(
        check.name,
        subject.name,
        "intercepts over weights, how far apart",
        max(apart, default=np.nan),
        _ROUNDING,
        runs=sum(map(len, found.values())),
    )


def _constants_of(model: Any, subject: SelectionSubject) -> list[float]:
    """Intercepts divided by the weights that the vertices sum to, where these are large enough."""
    facts = subject.facts
    weights = reference.weights_of(outcomes(model.vertices_, facts), subject.columns + 1, facts)
    weight, intercept = np.ravel(weights[-1]), np.ravel(model.intercept_)
    large = np.abs(weight) > _LEAST_WEIGHT * facts.radius
    return [float(constant) for constant in intercept[large] / weight[large]]


def _labels(session: Session[Subject]) -> Callable[[int], Any]:
    """A function that makes labels for a number of rows, exact in single precision."""
    subject = session.subject

    def labels(rows: int) -> Any:
        y = random_labels(rows, subject.facts, session.rng).astype(np.float32).astype(np.float64)
        return subject.labels(y)

    return labels
