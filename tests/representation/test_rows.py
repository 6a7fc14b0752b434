"""A row's whole numbers are its own: of no position, block, thread, neighbour or instruction."""

import struct
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from dplasso.data import ColumnBounds, ColumnMatrix
from dplasso.data.unit_rows import UnitRows
from dplasso.estimators.online_rows import RowForm
from dplasso.fitting.gradient import held_matrix
from dplasso.kernels import steps, stream_steps
from dplasso.kernels.problem import SCALE
from dplasso.losses import LogisticLoss, SoftmaxLoss, SquaredLoss
from dplasso.losses.encoded import EncodedLabels
from dplasso.solvers.few import ColumnScores, plan_few
from dplasso.solvers.gradient import plan_descent
from dplasso.solvers.gradient.conditioning import Conditioning
from dplasso.solvers.gradient.rows import PrivateRows
from neighbour_pairs import _grains
from storages import stored

ROWS, COLUMNS = 300, 6  # more rows than a block of any loop
LOSSES = [LogisticLoss(), SoftmaxLoss(classes=(0, 1, 2)), SquaredLoss(y_bound=2.0)]
frank_wolfe = sys.modules["dplasso.solvers.frank_wolfe"]


def problem(seed=0, loss=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS, COLUMNS)) * (rng.random((ROWS, COLUMNS)) < 0.7)
    X[::3] = np.round(X[::3])  # these alone would be held in single precision
    X[1::3] = X[1::3] != 0.0  # and these without values
    outputs = 1 if loss is None else loss.outputs
    y = rng.integers(0, max(outputs, 2), ROWS)
    return rng, X, y


def shuffled(rng):
    order = rng.permutation(ROWS)
    ones, others = order[order % 3 == 1], order[order % 3 != 1]
    return order, [ones, others[:1], others[1:2], *np.array_split(others[2:], 9)]


@pytest.mark.parametrize("loss", LOSSES, ids=["logistic", "softmax", "squared"])
@pytest.mark.parametrize("scaling", ["unit", "presence"])
def test_gradient_sums_are_those_of_any_parts(loss, scaling):
    rng, X, y = problem(1, loss)
    plan = plan_descent(loss, epsilon=1.0, delta=1e-6, n_rows=ROWS, n_columns=COLUMNS)
    conditioning = Conditioning.of(rng.uniform(0.1, 2.0, COLUMNS), rng.normal(size=COLUMNS) / 5)
    weights = rng.normal(size=(plan.outputs, COLUMNS)) * 3
    intercepts, own = rng.normal(size=plan.outputs), rng.random(ROWS)

    def sums(part, threads):
        rows = UnitRows.of(ColumnMatrix.of(X[part], 1.1), scaling)
        private = PrivateRows(rows, loss.encode(y[part]), loss, plan, threads, own[part])
        return private.mass(), private.sums(conditioning, weights, intercepts)

    order, parts = shuffled(rng)
    for k, whole in enumerate(sums(order, 3)):
        assert np.array_equal(whole, sum(sums(part, 1)[k] for part in parts))


def test_scores_of_a_choice_are_those_of_any_parts():
    rng, X, y = problem(2)
    loss, own = LogisticLoss(), rng.random(ROWS)
    plan = plan_few(loss, epsilon=1.0, delta=1e-6, n_rows=ROWS, n_chosen=1)

    def scores(part, threads):
        rows = UnitRows.of(ColumnMatrix.of(X[part], 1.1), "unit")
        labels = EncodedLabels(loss.encode(y[part]), own[part])
        found = ColumnScores.of(rows, labels, loss, plan)
        return np.append(found.of_centre(-77, threads), found.longest(-77) * len(part))

    order, parts = shuffled(rng)
    assert np.array_equal(scores(order, 3), sum(scores(part, 1) for part in parts))


@pytest.mark.parametrize("loss", LOSSES, ids=["logistic", "softmax", "squared"])
def test_scores_of_vertices_are_those_of_any_parts(loss):
    rng, X, y = problem(3, loss)
    vertices = rng.integers(0, (COLUMNS + 1) * loss.outputs, 7)

    def scores(part):
        matrix = ColumnMatrix.of(X[part], 1.1).with_constant()
        found = frank_wolfe.problem_of(matrix, loss.encode(y[part]), loss, 8.0, 1e-6, 0.0)
        walk = frank_wolfe.empty_walk(found, len(vertices))
        for t, vertex in enumerate(vertices):
            steps.release(found, walk, vertex, (-1) ** t, 2.0 / (t + 3.0), t)
        return np.array(_grains(found, walk))

    order, parts = shuffled(rng)
    assert np.array_equal(scores(order), sum(scores(part) for part in parts))


@pytest.mark.parametrize("unit", [True, False])
def test_the_sum_of_a_stream_is_that_of_any_parts(unit):
    rng, X, y = problem(4)
    form = RowForm(COLUMNS, unit=unit, intercept=True)
    weights, law = rng.normal(size=form.width), (LogisticLoss().compiled(), 0.7)

    def total(part, rows):
        found, margins = np.zeros(form.width, np.int64), np.empty((len(part), 1))
        given = (0, len(part), weights, law, 30, found, margins)
        stream_steps.add_rows(form.of_matrix(rows[part]), y[part].astype(float), *given)
        return found

    order, parts = shuffled(rng)
    sparse = sp.csr_array(X)
    assert np.array_equal(total(order, X), sum(total(part, sparse) for part in parts))


@pytest.mark.parametrize("x_bound", [2.2, 0.1, 1 / 3, 1e-40])
@pytest.mark.parametrize("more", [0.3, -7.0, 1e-200])
def test_masses_of_a_store_change_by_the_row_that_is_added_and_nothing_else(
    tmp_path, x_bound, more
):
    """One that makes values be stored where there were none, or in double precision."""
    rng = np.random.default_rng(5)
    loss = LogisticLoss()
    X = rng.integers(0, 4, (500, COLUMNS)) * 1.0
    row = np.full((1, COLUMNS), more)
    plan = plan_descent(loss, epsilon=1.0, delta=1e-6, n_rows=500, n_columns=COLUMNS)
    bounds = ColumnBounds.of(x_bound, COLUMNS)

    def mass(rows):
        held = held_matrix(stored(tmp_path, rows, x_bound), "as_is", bounds)
        return PrivateRows(UnitRows.of(*held), np.zeros(len(rows)), loss, plan, 1).mass()

    for base in (X, np.minimum(X, 1.0), X * 0.1):
        assert np.array_equal(mass(np.vstack([base, row])) - mass(base), mass(row))


def exponential(x):
    """`kernels.arithmetic.exponential` in Python's floats, which round every operation once."""
    shifted = x * 1.4426950408889634 + 6755399441055744.0
    n = shifted - 6755399441055744.0
    r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10
    tail = 1 / 5040.0 + r * (
        1 / 40320.0 + r * (1 / 362880.0 + r * (1 / 3628800.0 + r * (1 / 39916800.0)))
    )
    p = 1.0 + r * (
        1.0
        + r * (0.5 + r * (1 / 6.0 + r * (1 / 24.0 + r * (1 / 120.0 + r * (1 / 720.0 + r * tail)))))
    )
    bits = (struct.unpack("<q", struct.pack("<d", shifted))[0] + 1023) << 52
    return p * struct.unpack("<d", struct.pack("<Q", bits & (2**64 - 1)))[0]


def test_no_operation_is_fused_or_reordered_on_the_way_from_a_row_to_its_whole_number():
    """Margins and grains by Python's floats, operation by operation."""
    rng, X, y = problem(6)
    loss, radius, rounds = LogisticLoss(), 8.0, 5
    matrix = ColumnMatrix.of(X, 1.1)
    found = frank_wolfe.problem_of(matrix, loss.encode(y), loss, radius, 1e-6, 0.0)
    walk = frank_wolfe.empty_walk(found, rounds)
    X = matrix.sparse().toarray()
    margins, scale = [0.0] * ROWS, 1.0
    for t, vertex in enumerate(rng.integers(0, COLUMNS, rounds)):
        sign, eta = (-1) ** t, 2.0 / (t + 3.0)
        steps.release(found, walk, vertex, sign, eta, t)
        change = -sign * eta * radius
        scale = scale * (1.0 - eta)
        for i in np.flatnonzero(X[:, vertex]):
            margins[i] = margins[i] + (change / scale) * float(X[i, vertex])
    assert walk.scalars[SCALE] == scale and walk.margins.tolist() == margins
    per_bound = 1.0 / (2.0**-36 * found.x_bound * found.gradient_bound)
    gradients = [
        1.0 / (1.0 + exponential(-(margin * scale))) - float(label)
        for margin, label in zip(margins, y, strict=True)
    ]
    wanted = [
        sum(round(g * per_bound * float(x)) for g, x in zip(gradients, column, strict=True))
        for column in X.T
    ]
    assert _grains(found, walk) == wanted
