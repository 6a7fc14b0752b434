"""Bugs in the choice of columns before a descent."""

from fractions import Fraction

import numpy as np

from dplasso.mechanisms.exponential import draw_by_score
from dplasso.solvers.few import plan as planning
from dplasso.solvers.few import solve
from dplasso.solvers.few import solve as choosing
from dplasso.solvers.few.plan import FewPlan
from dplasso.solvers.few.scores import LABEL, ColumnScores
from planted.bug import of_any_size


def signs_read(monkeypatch):
    """Columns are drawn by the size of their score, and get its sign without a draw."""

    def drawn(scores, theta, count, generator):
        left, found = np.arange(len(scores)), []
        for _ in range(count):
            place = draw_by_score(np.abs(scores[left]), theta, generator)
            found.append((left[place], 1 if scores[left[place]] >= 0 else -1))
            left = np.delete(left, place)
        return np.array(found, np.int64).T

    monkeypatch.setattr(solve, "_drawn", drawn)


def centre_without_noise(monkeypatch):
    """The mean of the labels is treated as a public number."""
    monkeypatch.setattr(FewPlan, "centre_sigma", 0.0)


def whole_budget_for_the_descent(monkeypatch):
    """The descent is planned as if nothing had been spent on the choice."""
    right = planning.plan_descent
    monkeypatch.setattr(
        planning, "plan_descent", lambda *loss, share, **facts: right(*loss, **facts)
    )


def columns_without_score_not_drawn(monkeypatch):
    """Columns whose score is exactly 0, which are most columns, are left out of the draw.

    One row can make a score nonzero, and so make a column possible that was impossible.
    """
    right = choosing._drawn

    def drawn(scores, theta, count, generator):
        told = np.flatnonzero(scores)
        if len(told) <= count:
            return right(scores, theta, count, generator)
        places, signs = right(scores[told], theta, count, generator)
        return told[places], signs

    monkeypatch.setattr(choosing, "_drawn", drawn)


def scores_as_if_the_centre_were_zero(monkeypatch):
    """A label is at most LABEL, so a row moves a score by that times its largest entry.

    Scores use labels minus their mean: the error is up to a factor of 2 where most labels agree.
    """
    monkeypatch.setattr(ColumnScores, "longest", lambda self, centre: self.rows.largest * LABEL)


@of_any_size
def theta_of_choices_times(monkeypatch, size):
    """Columns are chosen with a larger theta than is stated."""
    right = FewPlan.theta
    monkeypatch.setattr(
        FewPlan, "theta", lambda self, longest: Fraction(size) * right(self, longest)
    )


@of_any_size
def noise_of_labels_times(monkeypatch, size):
    """The sum of the labels is given less noise than is stated."""
    right = FewPlan.centre_sigma.fget
    monkeypatch.setattr(FewPlan, "centre_sigma", property(lambda plan: size * right(plan)))


@of_any_size
def labels_times(monkeypatch, size):
    """Labels count a little more in their sum than their bound."""
    right = ColumnScores.label_sum
    monkeypatch.setattr(
        ColumnScores,
        "label_sum",
        lambda self: np.array([round(Fraction(size) * int(right(self)[0]))], np.int64),
    )
