"""Is a fitted model made of its releases alone?"""

from collections.abc import Iterator

import numpy as np
from sklearn.base import clone

from dplasso.audit.check import Check, Session
from dplasso.audit.descent import data
from dplasso.audit.descent.facts import Course, DescentFacts
from dplasso.audit.descent.recording import Recorded
from dplasso.audit.descent.reference import Rows, Walk
from dplasso.audit.descent.subject import WIDE, DescentSubject
from dplasso.audit.verdict import Verdict
from dplasso.fitting.fitted import Fitted
from dplasso.mechanisms.random_bits import random_bits

FITS = 5
_APART = 0.01  # lengths of a row by which whole numbers may differ from real ones, in a sum


class Release(Check[DescentSubject]):
    """Fits as a user does, hands the releases to a fit on other data, and rebuilds both.

    Where releases are the same, models must be, bit for bit, whatever the rows are. Weights and
    intercepts are also rebuilt from the releases by `dplasso.audit.descent.reference`, and so are
    the sums that noise was added to, from raw rows and the releases before, where no number of
    nonzeros is asked for. Finds a model, a damping, a centre or a row weight that holds more of the
    data than was released. Also holds ``fit`` against the parts of it that other checks repeat many
    times.
    """

    name = "release"
    of = DescentSubject

    def run(self, session: Session[DescentSubject]) -> Iterator[Verdict]:
        found = [_figures(session, k) for k in range(FITS)]
        limits = {
            "coefficients that other rows change": 0.0,
            "coefficients of fit and its parts that differ": 0.0,
            "coefficients beyond the releases": 1e-9,
            "sums beyond rows and releases, in rows": _APART,
        }
        worst = map(max, zip(*found, strict=True))
        figures = zip(limits, zip(worst, limits.values(), strict=True), strict=True)
        yield from self.limited(session, dict(figures), FITS)


def _figures(session: Session[DescentSubject], k: int) -> tuple[float, float, float, float]:
    subject, facts, rng = session.subject, session.subject.facts, session.rng
    columns = WIDE if k % 2 else subject.columns
    (X, y), other = (data.random_rows(columns, facts, rng) for _ in range(2))
    seed, prepared = int(rng.integers(1 << 62)), subject.prepare(X, y)
    drawn = prepared.releases(random_bits(seed))
    fitted = prepared.fitted
    elsewhere = subject.prepare(*other)
    elsewhere.answers([release.released for release in drawn])
    whole = clone(prepared.model)
    whole._random_bits = lambda: random_bits(seed)
    whole.fit(X, subject.labels(y))
    beyond = apart = 0.0
    if columns == subject.columns and facts.n_nonzero is None:
        beyond, apart = _against_reference(
            fitted, drawn, Rows.of(X, y, facts), prepared.course, facts
        )
    return differing(fitted, elsewhere.fitted), differing(fitted, whole.fitted_), beyond, apart


def differing(one: Fitted | None, other: Fitted | None) -> float:
    """Coefficients and intercepts that are not the same to the last bit."""
    assert one is not None and other is not None
    apart = np.sum(one.weights.toarray() != other.weights.toarray())
    return float(apart + np.sum(one.intercepts != other.intercepts))


def _against_reference(
    fitted: Fitted | None, drawn: list[Recorded], rows: Rows, course: Course, facts: DescentFacts
) -> tuple[float, float]:
    """Gaps between the model, its sums, and what the reference makes of rows and releases."""
    assert fitted is not None
    shape = (1, facts.outputs, -1)
    mass, *steps = drawn
    walk = Walk(mass.released[None, :].astype(np.float64), mass.sigma, course, facts)
    gaps = [np.linalg.norm(mass.sums - rows.mass(course))]
    for step in steps:
        gaps.append(np.linalg.norm(step.sums.reshape(shape) - walk.sums(rows)))
        walk.receive(step.released.astype(np.float64).reshape(shape))
    weights, intercepts = walk.result()
    scale = max(float(np.abs(weights).max()), float(np.abs(intercepts).max()), 1e-300)
    beyond = max(
        np.abs(fitted.weights.toarray() - weights[0]).max(),
        np.abs(fitted.intercepts - intercepts[0]).max(),
    )
    return float(beyond) / scale, float(max(gaps)) / course.unit
