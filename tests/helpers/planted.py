"""Slips that would break privacy, each planted where a person would make it.

A bug is a function that takes pytest's monkeypatch. ``BUGS`` says which checks of the audit are
expected to find it, and in fits by which solver.
"""

import dataclasses
import importlib

import numpy as np
import scipy.sparse as sp
from numba import njit

import planted_in_choices as choice_slips
import planted_in_descents as slips
from dplasso.data import columns
from dplasso.estimators import base
from dplasso.fitting import frank_wolfe as fit_by_frank_wolfe
from dplasso.kernels.problem import SCALE
from dplasso.kernels.scores import BUFFER, score
from dplasso.kernels.steps import release, step_size
from dplasso.mechanisms import counting, random_bits, selection
from dplasso.mechanisms.selection.base import Rule
from dplasso.privacy import plan
from planted_bug import Bug

solver = importlib.import_module("dplasso.solvers.frank_wolfe")


def theta_doubled(monkeypatch):
    """The plan of a fit forgets that a score moves both ways."""
    right = plan.theta_for
    monkeypatch.setattr(plan, "theta_for", lambda *facts: 2.0 * right(*facts))


def theta_doubled_in_the_engine(monkeypatch):
    """The plan is right, and so is what it states; the engine draws with another theta."""
    right = solver._problem
    monkeypatch.setattr(
        solver, "_problem", lambda *parts: (p := right(*parts))._replace(theta=2.0 * p.theta)
    )


@njit
def _rounds_with_exact_signs(problem, walk, rng, done, until):
    """The paper's Algorithm 2, line 16: the column is drawn, its sign is read."""
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
        sign = 1 if alpha[chosen] >= 0.0 else -1
        release(problem, walk, chosen, sign, step_size(problem.step, t + 1), t)


class ExactSign(Rule):
    def advance(self, until):
        _rounds_with_exact_signs(self.problem, self.walk, self.generator, self.done, until)
        self.done = until


def exact_sign(monkeypatch):
    """The sign of the vertex is that of the gradient."""
    monkeypatch.setitem(selection.PRIVATE, "lazy", ExactSign)


def delta_per_round(monkeypatch):
    """Each round is given the whole delta, and the fit claims that it was spent once."""
    right = fit_by_frank_wolfe.plan_selections

    def plan_selections(epsilon, delta, neighboring, rounds, *rest):
        made = right(epsilon, rounds * delta, neighboring, rounds, *rest)
        return dataclasses.replace(made, delta=delta)

    monkeypatch.setattr(fit_by_frank_wolfe, "plan_selections", plan_selections)


def count_without_noise(monkeypatch):
    """The Sparsifier's count as it is: the paper's listing, line 58."""
    monkeypatch.setattr(counting, "double_geometric", lambda gamma, generator: 0)


def row_counted_twice(monkeypatch):
    """The last row is read again, as where two blocks of a file overlap by one."""
    right = base.PrivateLasso._checked

    def checked(self, X, y):
        X, y = right(self, X, y)
        rows = np.append(np.arange(len(y)), len(y) - 1)
        return (sp.csr_array(X)[rows] if sp.issparse(X) else X[rows]), y[rows]

    monkeypatch.setattr(base.PrivateLasso, "_checked", checked)


def stale_generator(monkeypatch):
    """Streams keep their key in a forked child."""
    monkeypatch.setattr(random_bits._SystemChaCha, "rekey", lambda self: None)


def x_not_clipped(monkeypatch):
    """Entries beyond the bound are not noticed."""
    monkeypatch.setattr(columns, "kernels", _WithoutBound())


class _WithoutBound:
    """The kernels of the columns, whose report of an entry out of bound means nothing."""

    def __getattr__(self, name):
        return 0 if name == "OUT_OF_BOUND" else getattr(_column_kernels, name)


_column_kernels = columns.kernels


def _in_descents(plant, *found_by):
    return Bug(plant, found_by, "gradient")


def _in_choices(plant, *found_by):
    return Bug(plant, found_by, "select")


BUGS = {
    "theta doubled": Bug(theta_doubled, ("accounting", "law")),
    "theta doubled in the engine": Bug(theta_doubled_in_the_engine, ("range", "law")),
    "exact sign": Bug(exact_sign, ("law", "canary")),
    "delta per round": Bug(delta_per_round, ("accounting",)),
    "count without noise": Bug(count_without_noise, ("count",)),
    "row counted twice": Bug(row_counted_twice, ("range",)),
    "stale generator after a fork": Bug(stale_generator, ("generator",)),
    "x not clipped": Bug(x_not_clipped, ("range",)),
    "residuals not cut": _in_descents(slips.residuals_not_cut, "sensitivity"),
    "mass not charged": _in_descents(slips.mass_not_charged, "accounting"),
    "mass without noise": _in_descents(slips.mass_without_noise, "accounting", "noise"),
    "row weights from the exact mass": _in_descents(
        slips.weights_from_exact_mass, "sensitivity", "release"
    ),
    "noise of two steps the same": _in_descents(slips.noise_of_two_steps, "noise"),
    "one stream for all fits": _in_descents(slips.one_stream_for_all_fits, "generator", "noise"),
    "rows not scaled": _in_descents(slips.rows_not_scaled, "sensitivity", "release"),
    "row weights forgotten": _in_descents(slips.row_weights_forgotten, "sensitivity", "release"),
    "noise of one step": _in_descents(
        slips.noise_of_one_step, "accounting", "sensitivity", "noise", "canary"
    ),
    "draws for one sign": _in_choices(choice_slips.draws_for_one_sign, "range", "law"),
    "signs read and not drawn": _in_choices(choice_slips.signs_read, "law"),
    "centre without noise": _in_choices(
        choice_slips.centre_without_noise, "accounting", "sensitivity", "noise"
    ),
    "budget of the descent not reduced": _in_choices(
        choice_slips.whole_budget_for_the_descent, "accounting"
    ),
}
