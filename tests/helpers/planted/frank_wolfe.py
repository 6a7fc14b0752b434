"""Bugs in fits by Frank-Wolfe: the plan, the charge, the draws of vertices, the Sparsifier."""

import dataclasses
import importlib
import math
from fractions import Fraction

import numpy as np
import scipy.sparse as sp
from numba import njit

from dplasso.estimators import base
from dplasso.fitting import frank_wolfe as fit_by_frank_wolfe
from dplasso.fitting import sparsifier
from dplasso.kernels import noisy_max
from dplasso.kernels.problem import PUSHES, SCALE
from dplasso.kernels.rivals import big_step_little_step as big_step
from dplasso.kernels.rivals.pushes import step_and_push
from dplasso.kernels.scores import BUFFER, score
from dplasso.kernels.steps import release, step_size
from dplasso.losses.encoded import encoded
from dplasso.mechanisms import counting, selection
from dplasso.mechanisms.counting import double_geometric
from dplasso.mechanisms.selection import lazy_tiers
from dplasso.mechanisms.selection.base import Rule
from dplasso.privacy import plan
from planted.bug import of_any_size

solver = importlib.import_module("dplasso.solvers.frank_wolfe")  # its name is also a function


@of_any_size
def stated_theta_times(monkeypatch, size):
    """The plan of a fit has a larger theta than its charge allows."""
    right = plan.theta_for
    monkeypatch.setattr(plan, "theta_for", lambda *facts: size * right(*facts))


@of_any_size
def theta_times(monkeypatch, size):
    """The engine draws with a larger theta than the plan states."""
    right = solver.problem_of
    monkeypatch.setattr(
        solver, "problem_of", lambda *parts: (p := right(*parts))._replace(theta=size * p.theta)
    )


@of_any_size
def coefficients_times(monkeypatch, size):
    """The released coefficients are not quite those of the vertices."""
    right = fit_by_frank_wolfe.split

    def split(task, weights):
        columns, intercepts = right(task, weights)
        return columns * size, intercepts

    monkeypatch.setattr(fit_by_frank_wolfe, "split", split)


@of_any_size
def noise_of_the_count_times(monkeypatch, size):
    """The count of the Sparsifier has less noise than is charged."""
    right = counting.double_geometric
    monkeypatch.setattr(
        counting,
        "double_geometric",
        lambda gamma, generator: right(gamma / Fraction(size), generator),
    )


def delta_per_round(monkeypatch):
    """Each round is given the whole delta, and the fit claims that it was spent once."""
    right = fit_by_frank_wolfe.plan_selections

    def plan_selections(epsilon, delta, neighboring, rounds, *rest):
        made = right(epsilon, rounds * delta, neighboring, rounds, *rest)
        return dataclasses.replace(made, delta=delta)

    monkeypatch.setattr(fit_by_frank_wolfe, "plan_selections", plan_selections)


def count_without_noise(monkeypatch):
    """The Sparsifier's count is released without noise, as in the paper's listing, line 58."""
    monkeypatch.setattr(counting, "double_geometric", lambda gamma, generator: 0)


def count_clipped_after_its_noise(monkeypatch):
    """The count is clipped once, when it is released: clipping twice changes nothing.

    Noise is for a count between the bounds, and a count of all coefficients moves by any number.
    """

    def noisy_count(count, low, high, epsilon, generator):
        noised = count
        if epsilon != math.inf:
            noised += double_geometric(Fraction(epsilon) / (high - low), generator)
        return min(max(noised, low), high)

    monkeypatch.setattr(sparsifier, "noisy_count", noisy_count)


def exact_count_kept(monkeypatch):
    """Noise is added to the count, and the model keeps as many coefficients as before the noise."""
    right, counted = sparsifier.noisy_count, []

    def noisy_count(count, *facts):
        counted[:] = [count]
        return right(count, *facts)

    def keep_largest(weights, k):
        return sparsifier.keep_largest(weights, counted[0])

    monkeypatch.setattr(sparsifier, "noisy_count", noisy_count)
    monkeypatch.setattr(fit_by_frank_wolfe, "keep_largest", keep_largest)


def columns_kept_by_their_rows(monkeypatch):
    """As many coefficients are kept as were counted: those that change the most margins.

    A column counts by the square of its entries, which are read without noise.
    """
    walk, lengths = fit_by_frank_wolfe.FrankWolfeTask.walk, []

    def noted(self, rounds):
        found = walk(self, rounds)
        squares = self.matrix.sparse().power(2).sum(axis=0)
        lengths[:] = [np.asarray(squares).ravel()[: found.weights.shape[1]]]
        return found

    def keep_largest(weights, k):
        kept = sparsifier.keep_largest(sp.csr_array(weights * lengths[0]), k)
        return sp.csr_array(weights.multiply(kept != 0.0))

    monkeypatch.setattr(fit_by_frank_wolfe.FrankWolfeTask, "walk", noted)
    monkeypatch.setattr(fit_by_frank_wolfe, "keep_largest", keep_largest)


def weights_scaled_to_fit(monkeypatch):
    """Frank-Wolfe ends too far out or too far in, so the weights are scaled as suits the rows best.

    The factor is a function of the rows, without noise: weights are not those of the vertices.
    """
    right = fit_by_frank_wolfe.frank_wolfe

    def frank_wolfe(X, y, *, loss, **options):
        solution = right(X, y, loss=loss, **options)
        margins, labels = X.sparse() @ solution.weights.T.toarray(), encoded(loss, y, X.shape[0])
        factors = np.linspace(0.5, 1.0, 51)
        best = min(factors, key=lambda factor: loss.value(factor * margins, labels))
        return dataclasses.replace(solution, weights=solution.weights * best)

    monkeypatch.setattr(fit_by_frank_wolfe, "frank_wolfe", frank_wolfe)


def second_fit_not_charged(monkeypatch):
    """An estimator that is fitted again is not charged again.

    Another fit is another release, which the accountant never sees.
    """
    right = base.charge

    def charge(model, *facts, **unit):
        return None if hasattr(model, "n_iter_") else right(model, *facts, **unit)

    monkeypatch.setattr(base, "charge", charge)


def second_fit_charged_at_another_delta(monkeypatch):
    """An estimator that is fitted again is charged at a delta that no claim mentions."""
    _charge_second_fits(monkeypatch, lambda delta, neighboring: (delta / 1e3, neighboring))


def second_fit_charged_for_another_relation(monkeypatch):
    """An estimator that is fitted again is charged as if rows were replaced."""
    _charge_second_fits(monkeypatch, lambda delta, neighboring: (delta, "replace_one"))


def _charge_second_fits(monkeypatch, terms):
    right = base.charge

    def charge(model, event, delta, neighboring, *of, **unit):
        if hasattr(model, "n_iter_"):
            delta, neighboring = terms(delta, neighboring)
        return right(model, event, delta, neighboring, *of, **unit)

    monkeypatch.setattr(base, "charge", charge)


@njit
def _rounds_with_some_signs_read(problem, walk, rng, share, done, until):
    """Columns and signs follow the law, but in a share of the rounds the signs are read."""
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


@of_any_size
def some_signs_read(monkeypatch, size):
    """The sign of the vertex is that of the gradient, in a share of the rounds."""

    class SomeSignsRead(Rule):
        def advance(self, until):
            state = (self.problem, self.walk, self.generator, size)
            _rounds_with_some_signs_read(*state, self.done, until)
            self.done = until

    monkeypatch.setitem(selection.PRIVATE, "lazy", SomeSignsRead)


def empty_columns_not_proposed(monkeypatch):
    """A column without entries is marked as not light, so that it is never drawn.

    One row with an entry there makes a column possible that was impossible: an infinite loss.
    """
    right = lazy_tiers.make_envelope

    def make_envelope(problem, listed, heavy, generator):
        empty = np.flatnonzero(problem.indptr[1:] == problem.indptr[:-1])
        return right(problem, np.union1d(listed, empty), heavy, generator)

    monkeypatch.setattr(lazy_tiers, "make_envelope", make_envelope)


def empty_columns_have_no_tickets(monkeypatch):
    """The same in the standard rule: columns without entries get no tickets.

    One row with an entry there makes a column possible that was impossible: an infinite loss.
    """
    monkeypatch.setattr(noisy_max, "count_empty", lambda problem, blocks, cells: None)


@njit
def _rounds_that_skip_the_last(problem, walk, held, groups, rng, done, until):
    stop = walk.counters[PUSHES] + big_step.PATIENCE
    while done < until and walk.counters[PUSHES] < stop:
        vertex, sign = big_step.draw(problem, walk, held, groups, rng)
        touched = step_and_push(problem, walk, held, vertex, sign, done)
        big_step.patch_touched(problem, walk, held, groups, touched - 1)
        done += 1
    return done


def last_touched_column_not_patched(monkeypatch):
    """The list of touched columns has one place more than it needs, so the last is left out.

    Its flag stays set, and its tickets are never counted again unless its group is: where its score
    grows past them the opposite sign has probability 0, and its own is capped.
    """
    monkeypatch.setattr(big_step, "advance", _rounds_that_skip_the_last)
