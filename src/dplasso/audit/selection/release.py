"""Is a fitted model made of its releases alone?"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from dplasso.audit.check import Check, Session
from dplasso.audit.facts import AS_IS
from dplasso.audit.reference_rows import limit_of
from dplasso.audit.selection import data, reference
from dplasso.audit.selection.subject import SelectionSubject, outcomes
from dplasso.audit.verdict import Verdict
from dplasso.estimators import Sparsifier
from dplasso.mechanisms.random_bits import random_bits

FITS = 5


class Release(Check[SelectionSubject]):
    """Fits as a user does, and rebuilds coefficients and intercept from the released vertices.

    Finds a model that holds more of the data than it was charged for. Also holds ``fit`` against
    the parts of it that other checks repeat many times: with the same random bits both must release
    the same vertices, or those checks would be looking at something else.
    """

    name = "release"
    of = SelectionSubject

    def run(self, session: Session[SelectionSubject]) -> Iterator[Verdict]:
        subject, facts, rng = session.subject, session.subject.facts, session.rng
        gap, differing = 0.0, 0
        for _ in range(FITS):
            X, y = data.mixed_rows(subject.columns, 4.0, facts, rng)
            seed = int(rng.integers(1 << 62))
            model = subject.copy()
            model._random_bits = lambda seed=seed: random_bits(seed)
            model.fit(X, subject.labels(y))
            gap = max(gap, _gap(model, subject))
            differing += int(
                np.sum(outcomes(model.vertices_, facts) != _by_parts(subject, X, y, seed))
            )
        yield Verdict(
            self.name, subject.name, "coefficients beyond the vertices", gap, 1e-9, runs=FITS
        )
        yield Verdict(
            self.name,
            subject.name,
            "vertices of fit and its parts that differ",
            differing,
            0.0,
            runs=FITS,
        )


def _by_parts(subject: SelectionSubject, X: Any, y: Any, seed: int) -> Any:
    prepared, bits = subject.prepare(X, y), random_bits(seed)
    if isinstance(subject.sparsifier, Sparsifier):
        prepared.count(bits)
    return prepared.transcripts(1, subject.facts.rounds, bits)[0]


def _gap(model: Any, subject: SelectionSubject) -> float:
    """Largest difference between a coefficient kept and what the vertices add up to, by radius."""
    facts, columns = subject.facts, subject.columns
    drawn = outcomes(model.vertices_, facts)
    weights = reference.weights_of(drawn, columns + facts.intercept, facts)
    expected = weights[:columns].T
    if facts.bounds is not None and facts.rows == AS_IS:
        expected = expected * (facts.x_bound / facts.bounds)
    found = np.atleast_2d(np.asarray(model.coef_))
    kept = (found != 0.0) if subject.sparsifier is not None else np.ones_like(found, bool)
    gaps = np.abs(found - expected)[kept]
    constant = weights[columns] * limit_of(facts.held_bound) if facts.intercept else 0.0
    apart = np.abs(np.asarray(model.intercept_) - constant)
    scale = facts.radius * max(1.0, facts.held_bound)
    return float(max(gaps.max(initial=0.0), apart.max())) / scale
