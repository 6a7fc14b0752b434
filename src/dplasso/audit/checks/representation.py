"""Does the storage of rows affect a release, or another row?"""

import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from dplasso.audit.check import Check, Session, Subject, Verdict
from dplasso.audit.representation import forms
from dplasso.audit.representation.holders import FitHolder, Holder
from dplasso.audit.selection import reference
from dplasso.audit.selection.subject import SelectionSubject, outcomes
from dplasso.audit.synthetic import random_labels
from dplasso.base.arrays import Floats

_ROWS = 40
_NATS = 40.0  # effect of one label's rows on the intercept's log-weight: it is always chosen
_LEAST_WEIGHT = 1e-3  # share of the radius: for smaller weights, rounding matters too much
_ROUNDING = 1e-12
_EVERY = 4  # in a quick audit, one of this many forms is fitted to the end


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
        subject, holders = session.subject, session.subject.holders()

        def labels(rows: int) -> Any:  # exact in single precision
            return subject.labels(
                random_labels(rows, subject.facts, session.rng)
                .astype(np.float32)
                .astype(np.float64)
            )

        with tempfile.TemporaryDirectory() as folder:
            yield from compared(self, session, holders, labels, Path(folder))
        if isinstance(subject, SelectionSubject) and subject.facts.fit_intercept:
            # With ranges an intercept is also moved by the weights of other columns.
            fits = [
                holder
                for holder in holders
                if isinstance(holder, FitHolder) and not holder.has_ranges
            ]
            apart, compared_constants = _constants(subject, fits, session.rng)
            limits = {"relative spread of intercepts over weights": (apart, _ROUNDING)}
            yield from self.limited(session, limits, compared_constants)


def compared(
    check: Check[Any],
    session: Session[Any],
    holders: Sequence[Holder],
    labels: Callable[[int], Any],
    folder: Path,
) -> Iterator[Verdict]:
    """Verdicts on the effects of storage on releases and on other rows."""
    of_forms, of_rows = list[tuple[str, int]](), list[tuple[str, int]]()
    for k, holder in enumerate(holders):

        def drawn(turn: int, holder: Holder = holder) -> tuple[Floats, Any]:
            kind = forms.KINDS[turn % len(forms.KINDS)]
            X = forms.rows_of_kind(kind, holder.rows, holder.columns, holder.bound, session.rng)
            return X, labels(holder.rows)

        of_forms += _compare_forms(session, holder, *drawn(k), folder, k)
        X, y = drawn(k + 1)
        if k % len(forms.KINDS) == 0:
            of_forms += _compare_orders(holder, X, y)
        held = holder.held(forms.narrowest(X), y)
        for row in forms.telling_rows(holder.columns, holder.bound, session.rng):
            of_rows += _compare_rows(holder, X, held, row, y, folder)
        session.tell((k + 1) / len(holders))
    yield from check.counted(session, "releases that storage changes", of_forms)
    yield from check.counted(session, "rows that the storage of another row changes", of_rows)


# Comparisons of what a holder makes of rows: the name of each, and how many differences it found.
_Compared = Iterator[tuple[str, int]]


def _compare_forms(
    session: Session[Any], holder: Holder, X: Floats, y: Any, folder: Path, turn: int
) -> _Compared:
    """Store the same rows and labels in all ways, none of which may change a release.

    The rows that are held determine the releases; in turns, forms are also fitted to the end.
    """
    seed, every = int(session.rng.integers(1 << 31)), 1 if session.thorough else _EVERY
    ways = [(name, form, y) for name, form in forms.forms_of(X)]
    if holder.own_bound is not None:
        own = forms.own_forms_of(X, np.zeros(len(X)), holder.own_bound, folder)
        ways += [(name, form, y) for name, form in own]
    ways += [(name, X, form) for name, form in forms.label_forms_of(y)]
    held, released = holder.held(X, y), holder.released(X, y, seed)
    for place, (name, rows, labels) in enumerate(ways):
        try:
            same = np.array_equal(holder.held(rows, labels), held)
            if (place + turn) % every == 0:
                same = same and holder.released(rows, labels, seed) == released
        except Exception:  # rows accepted in one form must be accepted in all
            same = False
        yield f"{name}; {holder.named or 'as given'}", int(not same)


def _compare_orders(holder: Holder, X: Floats, y: Any) -> _Compared:
    """Repeat entries of rows in several orders, none of which may change the held rows."""
    (_, first), *others = forms.orders_of(X)
    held = holder.held(first, y)
    for name, rows in others:
        same = np.array_equal(holder.held(rows, y), held)
        yield f"{name}; {holder.named or 'as given'}", int(not same)


def _compare_rows(
    holder: Holder, X: Floats, held: Floats, row: Floats, y: Any, folder: Path
) -> _Compared:
    """Let another last row decide how all rows are stored: no other row may change.

    ``held`` is what the holder makes of the rows as they are.
    """
    other, last = X.copy(), len(X) - 1
    other[last] = row
    held = held[:last]
    ways = dict(forms.ways_to_store(other)) | {"with a repeat": forms.with_a_repeat(other)}
    if holder.own_bound is not None and np.ndim(holder.own_bound) == 0:
        ways["store"] = forms.stored(
            sp.csr_array(other), np.zeros(len(X)), holder.own_bound, folder
        )
    for name, rows in ways.items():
        try:
            changed = int(np.any(holder.held(rows, y)[:last] != held, axis=1).sum())
        except Exception:  # one row must not cause all others to be rejected
            changed = last
        yield f"{name}; {holder.named or 'as given'}", changed


def _constants(
    subject: SelectionSubject, holders: Sequence[FitHolder], rng: np.random.Generator
) -> tuple[float, int]:
    """The spread of the constants that convert weights to intercepts in fits with one bound.

    Returns the largest relative difference, NaN if there is none, and how many were compared.
    """
    facts = subject.facts
    enough = min(_NATS / (facts.theta * facts.held_bound * facts.gradient_bound), 4000.0)
    crowd = max(int(enough), _ROWS)
    y = subject.labels(np.zeros(crowd) if facts.classes else np.full(crowd, facts.y_bound))
    found: dict[Any, list[float]] = defaultdict(list)
    for k, holder in enumerate(holders):
        X = np.zeros((crowd, holder.columns))
        X[:_ROWS] = forms.rows_of_kind(forms.ONES, _ROWS, holder.columns, 1.0, rng)
        told = [X]
        for row in forms.telling_rows(holder.columns, holder.bound, rng):
            told.append(X.copy())
            told[-1][-1] = row
        for rows in told:
            _, form = list(forms.ways_to_store(rows))[k % 2]
            model = holder.fitted(form, y, int(rng.integers(1 << 31)))
            bound = model.privacy_["bounds"]["x_bound"]["value"]
            found[holder.named, bound] += _constants_of(model, subject)
    apart = [max(values) / min(values) - 1.0 for values in found.values() if values]
    return max(apart, default=np.nan), sum(map(len, found.values()))


def _constants_of(model: Any, subject: SelectionSubject) -> list[float]:
    """Intercepts divided by the weights that the vertices sum to, where these are large enough."""
    facts = subject.facts
    weights = reference.weights_of(outcomes(model.vertices_, facts), subject.columns + 1, facts)
    weight, intercept = np.ravel(weights[-1]), np.ravel(model.intercept_) - facts.y_middle
    if (correction := model.fitted_.correction) is not None:
        intercept = (intercept - correction.shifts) / correction.scale
    large = np.abs(weight) > _LEAST_WEIGHT * facts.radius
    return [float(constant) for constant in intercept[large] / weight[large]]
