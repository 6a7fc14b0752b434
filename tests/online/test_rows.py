"""Gradients of rows: the loss's, clipped, and never longer than they may be."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dplasso.losses import LogisticLoss, SmoothedHingeLoss, SquaredLoss
from dplasso.online import OnlineLearner
from dplasso.online.rows import rows_of
from running_sums import dense

LOSSES = {
    "logistic": LogisticLoss(),
    "squared": SquaredLoss(y_bound=2.0),
    "huber": SquaredLoss(y_bound=2.0, residual_bound=0.5),
    "hinge": SmoothedHingeLoss(smoothing=0.5),
}
names = st.sampled_from(sorted(LOSSES))
anything = st.floats(allow_nan=False, allow_infinity=False)


class Still:
    """A leader that stays where it is put."""

    def __init__(self, weights):
        self.weights, self.dimension = weights, len(weights)

    def follow(self, total, rows):
        pass


def gradients(loss, weights, rows, labels, clip):
    """What goes into the running sum, row by row, and all at once."""
    each, once = [], []

    class Kept:
        def __init__(self, into):
            self.into = into

        def add(self, vector):
            self.into.append(dense(vector, len(weights)))
            return self.into[-1]

    OnlineLearner(Still(weights), loss, Kept(each), clip=clip).learn_each(rows, labels)
    OnlineLearner(Still(weights), loss, Kept(once), clip=clip).learn(rows, labels)
    return np.array(each), once[0]


@settings(max_examples=150, deadline=None)
@given(
    names,
    arrays(np.float64, (3, 4), elements=st.floats(-3.0, 3.0)),
    arrays(np.float64, 4, elements=st.floats(-3.0, 3.0)),
    st.lists(st.sampled_from([0.0, 1.0]), min_size=3, max_size=3),
    st.floats(0.01, 10.0),
)
def test_gradients_are_the_losses_own_and_clipped(name, rows, weights, labels, clip):
    loss, labels = LOSSES[name], np.array(labels)
    own = loss.gradient((rows @ weights)[:, None], labels) * rows
    lengths = np.linalg.norm(own, axis=1, keepdims=True)
    shrunk = own * np.minimum(1.0, clip / np.maximum(lengths, 1e-300))
    each, once = gradients(loss, weights, rows, labels, clip)
    assert np.allclose(each, shrunk, rtol=1e-9, atol=1e-12)
    assert np.allclose(once, each.sum(axis=0), rtol=1e-12, atol=1e-12)  # one release for all
    for form in (sp.csr_array(rows), sp.coo_matrix(rows)):
        sparse, sparse_once = gradients(loss, weights, form, labels, clip)
        assert np.allclose(sparse, each, rtol=1e-12, atol=1e-15)
        assert np.allclose(sparse_once, once, rtol=1e-12, atol=1e-15)


@settings(max_examples=200, deadline=None)
@given(
    names,
    arrays(np.float64, 6, elements=anything),
    arrays(np.float64, 6, elements=anything),
    st.floats(1e-3, 1e3),
)
@example("squared", np.full(6, 1e-200), np.full(6, 1e300), 1.0)  # squares vanish, residuals do not
@example("squared", np.full(6, 1e-99), np.full(6, 1e300), 1e-3)
@example("hinge", np.full(6, 1e154), np.full(6, 1.0), 1.0)  # 0 times infinity
def test_no_row_is_longer_than_the_clip_by_a_single_bit(name, row, weights, clip):
    each, _ = gradients(LOSSES[name], weights, row, [1.0], clip)
    assert np.all(np.isfinite(each))
    assert sum(Fraction(float(g)) ** 2 for g in each[0]) <= Fraction(clip) ** 2


@pytest.mark.parametrize("name", LOSSES)
def test_long_rows_of_many_columns_are_clipped_to_the_last_bit(name):
    rng = np.random.default_rng(1)
    row, weights = rng.normal(size=20_000), np.zeros(20_000)
    each, _ = gradients(LOSSES[name], weights, row, [1.0], 0.25)
    square = sum(Fraction(float(g)) ** 2 for g in each[0])
    assert Fraction(0.25) ** 2 * (1 - Fraction(1, 10**9)) <= square <= Fraction(0.25) ** 2


def test_one_sparse_row_is_the_dense_one():
    weights, row = np.array([0.5, -1.0, 2.0, 0.0]), np.array([0.0, 1.0, 0.0, -2.0])
    each, once = gradients(LOSSES["logistic"], weights, row, [1.0], 10.0)
    sparse, sparse_once = gradients(LOSSES["logistic"], weights, ([1, 3], [1.0, -2.0]), [1.0], 10.0)
    assert np.array_equal(each, sparse) and np.array_equal(once, sparse_once)


def test_columns_named_twice_in_a_matrix_are_one_entry():
    twice = sp.csr_array((np.array([1.0, 1.0]), np.array([2, 2]), np.array([0, 2])), shape=(1, 4))
    each, _ = gradients(LOSSES["squared"], np.zeros(4), twice, [2.0], 1.0)
    assert np.allclose(each, [[0.0, 0.0, -1.0, 0.0]])
    assert twice.nnz == 2  # the caller's matrix stays as it was


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (([1, 1], [1.0, 1.0]), "once each"),
        (([2, 1], [1.0, 1.0]), "rising"),
        (([1, 3], [1.0, 1.0]), "outside"),
        (([-1], [1.0]), "outside"),
        (([1], [np.nan]), "NaN"),
        (([0.5], [1.0]), "whole numbers"),
        (([0, 1], [1.0]), "one for every"),
        (([0], [1.0], 3), "2|indices, values"),
        ([1.0, np.inf, 0.0], "NaN or infinity"),
        ([1.0, 2.0], "3 columns"),
        (sp.csr_array(np.ones((2, 4))), "3 columns"),
        (np.ones((1, 1, 3)), "dimensions"),
    ],
)
def test_rows_that_cannot_be_are_refused_by_name(rows, says):
    with pytest.raises(ValueError, match=says):
        rows_of(rows, 3)
