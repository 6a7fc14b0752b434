"""Is a fitted model made of its releases alone?"""

from collections.abc import Iterator

import numpy as np
from sklearn.base import clone

from dplasso.audit.check import Check, Session
from dplasso.audit.descent import data
from dplasso.audit.descent.release import differing
from dplasso.audit.few.subject import FewSubject, widened
from dplasso.audit.verdict import Verdict
from dplasso.mechanisms.random_bits import random_bits

FITS = 5


class Release(Check[FewSubject]):
    """Fits as a user does, and hands columns and releases to a fit on other data.

    Where those are the same, models must be, bit for bit, whatever the rows are. Finds a model that
    holds more of the data than was released. Also holds ``fit`` against the parts of it that other
    checks repeat many times.
    """

    name = "release"
    of = FewSubject

    def run(self, session: Session[FewSubject]) -> Iterator[Verdict]:
        found = [_figures(session) for _ in range(FITS)]
        tests = (
            "coefficients that other rows change",
            "coefficients and columns of fit and its parts that differ",
            "coefficients beyond the chosen columns",
        )
        worst = map(max, zip(*found, strict=True))
        figures = {tested: (figure, 0.0) for tested, figure in zip(tests, worst, strict=True)}
        yield from self.limited(session, figures, FITS)


def _figures(session: Session[FewSubject]) -> tuple[float, float, float]:
    subject, facts, rng = session.subject, session.subject.facts, session.rng
    (X, y), other = (data.random_rows(subject.columns, facts, rng) for _ in range(2))
    seed, prepared = int(rng.integers(1 << 62)), subject.prepare(X, y)
    drawn, fitted = prepared.run(random_bits(seed)), prepared.fitted
    assert fitted is not None
    elsewhere = subject.prepare(*other)
    elsewhere.answers([release.released for release in drawn.sums], drawn.chosen)
    whole = clone(prepared.model)
    whole._random_bits = lambda: random_bits(seed)
    whole.fit(widened(X), subject.labels(y))
    beyond = np.setdiff1d(fitted.weights.indices, drawn.chosen.columns)
    apart = np.sum(whole.vertices_ != fitted.released) + differing(fitted, whole.fitted_)
    return differing(fitted, elsewhere.fitted), float(apart), float(len(beyond))
