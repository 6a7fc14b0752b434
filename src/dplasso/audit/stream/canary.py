"""One row, told from the weights of a stream as well as anyone could."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dplasso.audit.certify import certified
from dplasso.audit.check import Check, Session
from dplasso.audit.descent.account import gaussian_epsilon
from dplasso.audit.statistics import mu_between
from dplasso.audit.stream.facts import GAMMA
from dplasso.audit.stream.reference import likelihood_weights, told_while_protected
from dplasso.audit.stream.subject import (
    READABLE,
    STEPS,
    StreamSubject,
    noise_matrix,
    released_sum,
    rows_of,
)
from dplasso.audit.subject import Subject
from dplasso.audit.verdict import Verdict
from dplasso.base.arrays import Floats

RUNS = 100  # of some columns each, all of which go through one stream
_COLUMNS, _MOST = 80, 50_000
_DELTA = 1e-6
_LONG = 8.0  # times the clip, the canary's gradient, where a margin is off by 1


class Canary(Check[StreamSubject]):
    """Learns from a stream of empty rows with one canary, and without; says which it was.

    Whoever sees all weights while the row is protected, and knows everything else, scores it by the
    likelihood ratio of the releases, at the row that the noise hides least. Columns are as many
    runs: a canary of d equal entries is clipped to one length, and at the root of d times the mu
    every column by itself is a stream whose row moves it by its share, at a mu of 1. On a third of
    them a threshold is chosen; on the rest the rates at which it is exceeded are bounded by
    Clopper-Pearson, and prove that mu is at least the distance of their normal quantiles. Finds
    whatever lets one row show, from end to end. Not asked of Gamma noise, whose columns are not
    independent.
    """

    name = "canary"
    of = StreamSubject
    tests = 1
    share = 1.0

    def asked_of(self, subject: Subject) -> Check[Any] | None:
        found = isinstance(subject, StreamSubject) and subject.facts.noise != GAMMA
        return self if found else None

    def run(self, session: Session[StreamSubject]) -> Iterator[Verdict]:
        subject = session.subject
        columns = _columns(session)
        matrix = _matrix(subject, columns)
        told = told_while_protected(matrix, subject.short_window)
        row = int(told.argmax())
        end = min(len(matrix), row + (subject.short_window or len(matrix)))
        weights = likelihood_weights(matrix, row, end)
        # Rows of -1 have gradients of 1, as their label asks for more.
        rival = 1 if subject.facts.neighboring == "replace_one" else 0
        present, absent = (_released(session, columns, row, value, end) for value in (-1, rival))
        yield from certified(
            subject.name,
            (weights @ present)[:, None],
            (weights @ absent)[:, None],
            {"mu": (mu_between, 1.0)},
            session.error,
            mu_of_the_row=float(told.max()),
            row=row,
            budget="at which every column has a mu of 1",
        )


def _columns(session: Session[StreamSubject]) -> int:
    """As many as time allows."""
    runs = session.runs(RUNS, lambda n: _released(session, n * _COLUMNS, 0, 1, STEPS))
    return min(_MOST, runs * _COLUMNS)


def _model(subject: StreamSubject, columns: int, bits: Any = None) -> Any:
    classes = {"classes": subject.classes[:2].tolist()} if subject.classifies else {}
    return subject.begun(
        columns,
        bits,
        **READABLE,
        **classes,
        epsilon=gaussian_epsilon(math.sqrt(columns), _DELTA),
        delta=_DELTA,
        rows="as_is",
        fit_intercept=False,
    )


def _matrix(subject: StreamSubject, columns: int) -> Floats:
    """Of the noise of one column, in units of its share of what a row moves."""
    return noise_matrix(_model(subject, columns), STEPS) * math.sqrt(columns)


def _released(
    session: Session[StreamSubject], columns: int, row: int, canary: int, steps: int
) -> Floats:
    """Released sums, steps x columns, in units of a column's share of what a row moves."""
    subject = session.subject
    model = _model(subject, columns, session.bits)
    unit = subject.facts.y_bound
    labels = subject.labels(np.full(subject.rows_a_step, unit))
    entry = canary * _LONG * subject.facts.clip / (unit * math.sqrt(columns))
    sums = np.empty((steps, columns))
    for step in range(steps):
        X = np.zeros((subject.rows_a_step, columns))
        X[0] = entry if step == row else 0.0
        model.stream_.learn(*rows_of(model, X, labels))
        sums[step] = released_sum(model)
    return sums * (math.sqrt(columns) / subject.facts.reach)
