"""Slips that would break the privacy of a choice of columns, planted where one would make them."""

import numpy as np

from dplasso.mechanisms.exponential import draw_by_score
from dplasso.solvers.few import plan as planning
from dplasso.solvers.few import solve
from dplasso.solvers.few.plan import FewPlan


def draws_for_one_sign(monkeypatch):
    """Draws are as sharp as if one sign alone could be drawn, and charged as before."""
    right = FewPlan.theta
    monkeypatch.setattr(FewPlan, "theta", lambda self, longest: 2 * right(self, longest))


def signs_read(monkeypatch):
    """Columns are drawn by the size of their score, and have its sign."""

    def drawn(scores, theta, count, generator):
        left, found = np.arange(len(scores)), []
        for _ in range(count):
            place = draw_by_score(np.abs(scores[left]), theta, generator)
            found.append((left[place], 1 if scores[left[place]] >= 0 else -1))
            left = np.delete(left, place)
        return np.array(found, np.int64).T

    monkeypatch.setattr(solve, "_drawn", drawn)


def centre_without_noise(monkeypatch):
    """The mean of the labels is taken for a public number."""
    monkeypatch.setattr(FewPlan, "centre_sigma", 0.0)


def whole_budget_for_the_descent(monkeypatch):
    """The descent is planned as if nothing had been spent on the choice."""
    right = planning.plan_descent
    monkeypatch.setattr(
        planning, "plan_descent", lambda *loss, share, **facts: right(*loss, **facts)
    )
