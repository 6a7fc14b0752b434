"""Slips in the drawing of vertices that would break privacy, planted where one would make them."""

import numpy as np
from numba import njit

from dplasso.kernels import envelope as tiers
from dplasso.kernels.problem import PATH, SCALE
from dplasso.kernels.scores import BUFFER, score
from dplasso.kernels.steps import release, step_size
from dplasso.losses import LogisticLoss, SoftmaxLoss, SquaredLoss
from dplasso.mechanisms import selection
from dplasso.mechanisms.selection import lazy_tiers
from dplasso.mechanisms.selection.base import Rule
from dplasso.mechanisms.selection.cohorts import AlikeRows
from dplasso.mechanisms.selection.lazy import LazyDraw


@njit
def _rounds_with_some_signs_read(problem, walk, rng, share, done, until):
    """Columns follow the law; so do signs, but in a share of the rounds they are read."""
    vertices = (problem.indptr.size - 1) * problem.classes
    alpha, buffer = np.empty(vertices), np.empty(BUFFER)
    for t in range(done, until):
        for vertex in range(vertices):
            alpha[vertex] = score(problem, walk.margins, walk.scalars[SCALE], vertex, buffer)
        size = problem.theta * np.abs(alpha)
        weights = np.exp(size - size.max()) + np.exp(-size - size.max())
        left = rng.random() * weights.sum()
        chosen = 0
        while chosen < vertices - 1 and left >= weights[chosen]:
            left -= weights[chosen]
            chosen += 1
        agrees = rng.random() < share or rng.random() < 1.0 / (1.0 + np.exp(-2.0 * size[chosen]))
        sign = 1 if (alpha[chosen] >= 0.0) == agrees else -1
        release(problem, walk, chosen, sign, step_size(problem.step, t + 1), t)


def some_signs_read(share):
    """A bug of graded size: the sign of the vertex is that of the gradient in some rounds."""

    class SomeSignsRead(Rule):
        def advance(self, until):
            state = (self.problem, self.walk, self.generator, share)
            _rounds_with_some_signs_read(*state, self.done, until)
            self.done = until

    def plant(monkeypatch):
        monkeypatch.setitem(selection.PRIVATE, "lazy", SomeSignsRead)

    return plant


def drift_times(factor):
    """Scores are believed to move by less than they can: the 2-norms of columns are too small."""

    def plant(monkeypatch):
        right = lazy_tiers.heavy_columns

        def heavy_columns(*facts):
            found = right(*facts)
            return found._replace(drift=factor * found.drift)

        monkeypatch.setattr(lazy_tiers, "heavy_columns", heavy_columns)

    return plant


def lipschitz_times(factor):
    """The same by the loss: its gradient is said to be flatter than it is."""

    def plant(monkeypatch):
        for loss in (LogisticLoss, SquaredLoss, SoftmaxLoss):
            monkeypatch.setattr(loss, "lipschitz", factor * loss.lipschitz)

    return plant


def cohort_scores_times(factor):
    """Scores that are sums over cohorts of rows are not those of the rows."""

    def plant(monkeypatch):
        right = AlikeRows.score

        def score(self, column, done):
            found = right(self, column, done)
            return None if found is None else factor * found

        monkeypatch.setattr(AlikeRows, "score", score)

    return plant


def limits_times(factor):
    """Columns are believed to be lighter than they are: their 1-norms are too small."""

    def plant(monkeypatch):
        right = lazy_tiers.heavy_columns

        def heavy_columns(*facts):
            found = right(*facts)
            return found._replace(limit=factor * found.limit)

        monkeypatch.setattr(lazy_tiers, "heavy_columns", heavy_columns)

    return plant


def curvature_times(factor):
    """Slopes of gradients are believed to be flatter than they are: bounds of the head."""

    def plant(monkeypatch):
        low, high = LogisticLoss.curvature
        monkeypatch.setattr(LogisticLoss, "curvature", (low, factor * high))

    return plant


def light_rate_times(factor):
    """Light columns are decided as if their entries were smaller than they can be."""

    def plant(monkeypatch):
        right = lazy_tiers.make_envelope

        def make_envelope(*facts):
            made = right(*facts)
            made.real[tiers.LIGHT_RATE] *= factor
            return made

        monkeypatch.setattr(lazy_tiers, "make_envelope", make_envelope)

    return plant


def light_tier_too_wide(monkeypatch):
    """Columns that can weigh twice as much as the light ones' envelope are taken for light."""
    right = lazy_tiers.heavy_columns

    def heavy_columns(problem, *facts):
        found = right(problem, *facts)
        return found.only(problem.theta * found.limit > 2.0)

    monkeypatch.setattr(lazy_tiers, "heavy_columns", heavy_columns)


def scores_kept_without_their_path(monkeypatch):
    """Scores at the start count as scores of now whenever stock is taken."""

    def take_stock(self):
        self.heavy.score_path[:] = self.walk.scalars[PATH]
        tiers.choose_unit(self.problem, self.walk, self.envelope, self.heavy)
        tiers.aim_words(self.envelope)
        self.envelope.whole[tiers.WORK] = 0

    monkeypatch.setattr(LazyDraw, "_take_stock", take_stock)


# Under their names: how to plant each, and the checks of the audit that find it.
SLIPS = {
    "signs read in 5 % of rounds": (some_signs_read(0.05), ("law",)),
    "drift of scores halved": (drift_times(0.5), ("envelope",)),
    "Lipschitz constants halved": (lipschitz_times(0.5), ("envelope",)),
    "cohort scores times 1.2": (cohort_scores_times(1.2), ("envelope",)),
    "norms of columns too small": (limits_times(0.8), ("envelope",)),
    "curvature halved": (curvature_times(0.5), ("envelope",)),
    "light columns decided by half their entries": (light_rate_times(0.5), ("envelope",)),
    "too many columns taken for light": (light_tier_too_wide, ("envelope",)),
    "stock taken without scores": (scores_kept_without_their_path, ("envelope",)),
}
