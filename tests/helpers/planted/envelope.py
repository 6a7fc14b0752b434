"""Bugs in the bounds on scores that the lazy rule draws from."""

import numpy as np

from dplasso.kernels import envelope as tiers
from dplasso.kernels.problem import PATH
from dplasso.losses import LogisticLoss, SoftmaxLoss, SquaredLoss
from dplasso.mechanisms.selection import lazy_tiers
from dplasso.mechanisms.selection.cohorts import AlikeRows
from dplasso.mechanisms.selection.lazy import LazyDraw
from planted.bug import of_any_size


@of_any_size
def drift_times(monkeypatch, size):
    """Scores are believed to move by less than they can: the 2-norms of columns are too small."""
    _change_heavy_columns(monkeypatch, lambda found: found._replace(drift=size * found.drift))


@of_any_size
def limits_times(monkeypatch, size):
    """Columns are believed to be lighter than they are: their 1-norms are too small."""
    _change_heavy_columns(monkeypatch, lambda found: found._replace(limit=size * found.limit))


def _change_heavy_columns(monkeypatch, change):
    right = lazy_tiers.heavy_columns
    monkeypatch.setattr(lazy_tiers, "heavy_columns", lambda *facts: change(right(*facts)))


@of_any_size
def lipschitz_times(monkeypatch, size):
    """The gradients of the losses are said to be flatter than they are."""
    for loss in (LogisticLoss, SquaredLoss, SoftmaxLoss):
        monkeypatch.setattr(loss, "lipschitz", size * loss.lipschitz)


@of_any_size
def cohort_scores_times(monkeypatch, size):
    """Scores that are sums over cohorts of rows are not those of the rows."""
    right = AlikeRows.score

    def score(self, column, done):
        found = right(self, column, done)
        return None if found is None else size * found

    monkeypatch.setattr(AlikeRows, "score", score)


@of_any_size
def curvature_times(monkeypatch, size):
    """Slopes of gradients are believed to be flatter than they are: bounds of the head."""
    low, high = LogisticLoss.curvature
    monkeypatch.setattr(LogisticLoss, "curvature", (low, size * high))


@of_any_size
def turn_of_slopes_times(monkeypatch, size):
    """Slopes are believed to change less with the margin than they do: bounds by bends."""
    monkeypatch.setattr(LogisticLoss, "curvature_turn", size * LogisticLoss.curvature_turn)


def cohorts_taken_for_rows(monkeypatch):
    """Where bends are computed, a cohort counts as one row, however many it has."""
    right = AlikeRows.rows_of

    def rows_of(self, column, done):
        found = right(self, column, done)
        return None if found is None else (found[0], np.ones_like(found[1]))

    monkeypatch.setattr(AlikeRows, "rows_of", rows_of)


@of_any_size
def light_rate_times(monkeypatch, size):
    """Light columns are decided as if their entries were smaller than they can be."""
    right = lazy_tiers.make_envelope

    def make_envelope(*facts):
        made = right(*facts)
        made.real[tiers.LIGHT_RATE] *= size
        return made

    monkeypatch.setattr(lazy_tiers, "make_envelope", make_envelope)


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


def norms_in_units_of_the_bound(monkeypatch):
    """The norms of a matrix, which are divided by the bound, are used as those of its entries.

    With a bound above 1 the limit on a heavy score is below the score, and where it is crossed the
    opposite sign has probability 0.
    """
    right = lazy_tiers.heavy_columns

    def heavy_columns(problem, *rest):
        listed = right(problem, *rest)
        if problem.norm1 is None:
            return listed
        return listed._replace(limit=listed.limit / problem.x_bound)

    monkeypatch.setattr(lazy_tiers, "heavy_columns", heavy_columns)
