"""Can one row move a stream's sum further than was charged?"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dplasso.audit.check import Check, Session
from dplasso.audit.descent.sensitivity import square_length
from dplasso.audit.stream import data
from dplasso.audit.stream.subject import StreamSubject, exact_sum, rows_of, without
from dplasso.audit.synthetic import random_form
from dplasso.audit.verdict import Verdict

NEIGHBOURS = 60
_ROUNDING = 1.0 + 1e-12
_BEFORE, _AFTER = 3, 2  # steps around the one in which neighbours differ


class Sensitivity(Check[StreamSubject]):
    """Compares the exact sums of two streams that differ in one row, step by step.

    Both go through the estimator's own intake with the same noise, up to a step in which one lacks
    a row, or has another. How far their sums are then apart, in whole numbers and without rounding,
    may be no more than the noise is charged for. After that the sum and the weights of one are
    handed to the other, as where all releases are the same, and what later rows add must be the
    same to the last bit. Rows are empty, tiny, huge, of one entry, in several formats. Nothing is
    left to chance but which neighbours are tried. Finds a gradient that is not clipped, outputs
    that are not clipped together, sums that depend on other rows. Does not look at the noise.
    """

    name = "sensitivity"
    of = StreamSubject
    share = 0.2

    def run(self, session: Session[StreamSubject]) -> Iterator[Verdict]:
        tries = NEIGHBOURS
        if session.thorough:
            tries = session.runs(NEIGHBOURS, lambda n: [_tried(session) for _ in range(n)])
        widest = later = 0.0
        for k in range(tries):
            change, more = _tried(session)
            widest, later = max(widest, change), later + more
            session.tell((k + 1) / tries)
        figures = {
            "widest change of a step's sums, over that charged": (widest, _ROUNDING),
            "later sums that a row reaches without a release": (later, 0.0),
        }
        yield from self.limited(session, figures, tries)


def _tried(session: Session[StreamSubject]) -> tuple[float, int]:
    """How far sums of neighbours are apart, over what is charged; numbers that differ later."""
    subject, rng = session.subject, session.rng
    seed = int(rng.integers(1 << 62))
    one, other = (subject.begun(subject.columns, seed) for _ in range(2))
    for _ in range(int(rng.integers(_BEFORE + 1))):
        _learn(session, one, other)
    _differ(session, one, other)
    apart = math.sqrt(square_length(exact_sum(one) - exact_sum(other))) * one.stream_.total.unit
    other.stream_.total.total[:] = one.stream_.total.total
    other.stream_.learner.resume(one.stream_.learner.state())
    for _ in range(_AFTER):
        _learn(session, one, other)
    later = np.sum(exact_sum(one) != exact_sum(other)) + np.sum(
        one.stream_.weights != other.stream_.weights
    )
    return apart / subject.facts.reach, int(later)


def _learn(session: Session[StreamSubject], one: Any, other: Any) -> None:
    """A step of the same rows."""
    X, y = _batch(session)
    for model in (one, other):
        model.stream_.learn(*rows_of(model, X, session.subject.labels(y)))


def _differ(session: Session[StreamSubject], one: Any, other: Any) -> None:
    """A step of which one row is not there, or is another."""
    subject, rng = session.subject, session.rng
    X, y = _batch(session)
    place, form = int(rng.integers(len(y))), random_form(rng)
    one.stream_.learn(*rows_of(one, form(X), subject.labels(y)))
    if subject.facts.neighboring == "replace_one":
        rival, label = data.random_rows(1, subject.columns, subject.facts, rng)
        X, y = X.copy(), y.copy()
        X[place], y[place] = (-X[place], y[place]) if rng.random() < 0.5 else (rival[0], label[0])
        other.stream_.learn(*rows_of(other, form(X), subject.labels(y)))
    else:
        rows, labels = rows_of(other, form(X), subject.labels(y))
        other.stream_.learn(without(rows, place), labels)


def _batch(session: Session[StreamSubject]) -> tuple[Any, Any]:
    subject = session.subject
    return data.random_rows(subject.rows_a_step, subject.columns, subject.facts, session.rng)
