"""How much one row changes a stream's sum, and whether it affects later sums without a release."""

import math
from typing import TYPE_CHECKING

import numpy as np

from dplasso.audit.descent.changes import square_length
from dplasso.audit.stream import data
from dplasso.audit.stream.learning import Learning
from dplasso.audit.synthetic import Table, random_form

if TYPE_CHECKING:
    from dplasso.audit.stream.subject import StreamSubject

_BEFORE, _AFTER = 3, 2  # steps around the one in which neighbours differ


def widest(subject: "StreamSubject", rng: np.random.Generator) -> dict[str, float]:
    """The distance of the sums of two neighbours, divided by the charge.

    Both pass the estimator's own validation with the same noise, up to a step in which one lacks a
    row or has another one. After that the other gets the sum and the weights of the first, as if
    all releases were the same, and later rows must add the same to both, to the last bit.
    """
    seed = int(rng.integers(1 << 62))
    one, other = (subject.begun(subject.columns, seed) for _ in range(2))
    for _ in range(int(rng.integers(_BEFORE + 1))):
        _learn(subject, rng, one, other)
    _differ(subject, rng, one, other)
    apart = math.sqrt(square_length(one.exact_sum - other.exact_sum)) * one.total.unit
    other.continue_from(one)
    for _ in range(_AFTER):
        _learn(subject, rng, one, other)
    later = np.sum(one.exact_sum != other.exact_sum) + np.sum(one.weights != other.weights)
    return {
        "widest change of a step's sums, over that charged": apart / subject.facts.reach,
        "later sums that a row reaches without a release": math.inf if later else 0.0,
    }


def _learn(
    subject: "StreamSubject", rng: np.random.Generator, one: Learning, other: Learning
) -> None:
    """Take a step with the same rows for both."""
    X, y = _batch(subject, rng)
    for stream in (one, other):
        stream.learn(stream.batch(X, subject.labels(y)))


def _differ(
    subject: "StreamSubject", rng: np.random.Generator, one: Learning, other: Learning
) -> None:
    """Take a step in which one row is missing or replaced for the other."""
    X, y = _batch(subject, rng)
    place, form = int(rng.integers(len(y))), random_form(rng)
    one.learn(one.batch(form(X), subject.labels(y)))
    if subject.facts.neighboring == "replace_one":
        rival, label = data.random_rows(1, subject.columns, subject.facts, rng)
        X, y = X.copy(), y.copy()
        X[place], y[place] = (-X[place], y[place]) if rng.random() < 0.5 else (rival[0], label[0])
        other.learn(other.batch(form(X), subject.labels(y)))
    else:
        other.learn(other.batch(form(X), subject.labels(y)).without(place))


def _batch(subject: "StreamSubject", rng: np.random.Generator) -> Table:
    return data.random_rows(subject.rows_per_step, subject.columns, subject.facts, rng)
