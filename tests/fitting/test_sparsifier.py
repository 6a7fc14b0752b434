"""The count of what to keep: its bounds, its law, and what keeping means."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso import PrivateLassoClassifier
from dplasso.data import ColumnMatrix
from dplasso.fitting.sparsifier import Sparsifier, keep_largest
from dplasso.losses import LogisticLoss, SoftmaxLoss, SquaredLoss
from dplasso.privacy.zcdp import rho_of
from reference import chi_square, seeded

SQUARED = SquaredLoss(y_bound=10.0)


def diagonal(nonzeros, columns=25):
    """A problem whose solution keeps ``nonzeros`` weights of 1, and an intercept of its own row.

    Rows share no column, so the solution over a ball of radius ``nonzeros + 1`` is the projection
    of the labels: one less than each of those that are 2, and nothing of the others.
    """
    y = np.full(columns + 1, 0.5)
    y[:nonzeros] = 2.0
    y[columns] = 2.0
    return ColumnMatrix.of(np.eye(columns + 1)), y


def keep(sparsifier, nonzeros, epsilon, seed=0, columns=25):
    matrix, y = diagonal(nonzeros, columns)
    return sparsifier.keep(
        matrix, y, SQUARED, nonzeros + 1.0, size=columns, epsilon=epsilon, generator=seeded(seed)
    )


def clipped_law(count, low, high, epsilon):
    """Chances of low, low + 1, ..., high."""
    q, outcomes = math.exp(-epsilon / (high - low)), np.arange(low, high + 1)
    mass = np.where((outcomes == low) | (outcomes == high), 1.0, 1.0 - q)
    return mass * q ** np.abs(outcomes - min(max(count, low), high)) / (1.0 + q)


@pytest.mark.parametrize("nonzeros", [5, 6, 7, 10])
def test_without_noise_the_nonzero_features_are_counted(nonzeros):
    assert keep(Sparsifier(), nonzeros, math.inf) == nonzeros


@pytest.mark.parametrize(("nonzeros", "kept"), [(2, 5), (20, 10)])
def test_the_count_is_clipped(nonzeros, kept):
    assert keep(Sparsifier(), nonzeros, math.inf) == kept


def test_columns_beyond_the_features_are_not_counted():
    matrix, y = diagonal(7)
    arguments = matrix, y, SQUARED, 8.0
    kept = [
        Sparsifier(low=0, high=20).keep(
            *arguments, size=size, epsilon=math.inf, generator=seeded(1)
        )
        for size in (25, 26)
    ]
    assert kept == [7, 8]


def test_all_outputs_of_a_feature_count():
    """Three classes, each with a column of its own that tells it from the others."""
    X = np.kron(np.eye(3), np.ones((10, 1)))
    matrix, loss = ColumnMatrix.of(np.hstack([X, np.zeros((30, 5))])), SoftmaxLoss(range(3))
    labels = np.repeat([0.0, 1.0, 2.0], 10)
    kept = Sparsifier(low=0, high=20).keep(
        matrix, labels, loss, 3.0, size=24, epsilon=math.inf, generator=seeded(1)
    )
    # Each class raises its own margin; lowering the two others costs twice as much.
    assert kept == 3


def counts_kept(nonzeros, epsilon, draws=1500):
    """How often 5, 6, ... 10 were kept, the default bounds for 25 features."""
    matrix, y = diagonal(nonzeros)
    options = {"size": 25, "epsilon": epsilon, "generator": seeded(3)}
    kept = [Sparsifier().keep(matrix, y, SQUARED, nonzeros + 1.0, **options) for _ in range(draws)]
    return np.bincount(np.array(kept) - 5, minlength=6)


@pytest.mark.parametrize("epsilon", [0.05, 3.0])
def test_law_of_the_count(epsilon):
    assert chi_square(counts_kept(7, epsilon), clipped_law(7, 5, 10, epsilon)) > 1e-3


def test_the_law_of_another_count_is_told_apart():
    assert chi_square(counts_kept(8, 3.0), clipped_law(7, 5, 10, 3.0)) < 1e-9


@pytest.mark.parametrize(
    ("precision", "kept"), [(0.49, 3), (0.51, 4), (1.0, 7), (1.4, 10), (3.0, 21), (1e308, 25)]
)
def test_precision_multiplies_and_rounds(precision, kept):
    assert keep(Sparsifier(precision=precision), 7, math.inf) == kept


@settings(max_examples=60, deadline=None)
@given(
    nonzeros=st.integers(1, 12),
    columns=st.integers(12, 20),
    bounds=st.tuples(st.integers(0, 11), st.integers(0, 11)),
    precision=st.floats(0.01, 100),
    epsilon=st.sampled_from([1e-3, 1.0, math.inf]),
    seed=st.integers(0, 1000),
)
def test_what_is_kept_stays_in_its_range(nonzeros, columns, bounds, precision, epsilon, seed):
    low, high = min(bounds), max(bounds) + 1
    kept = keep(
        Sparsifier(low=low, high=high, precision=precision), nonzeros, epsilon, seed, columns
    )
    assert isinstance(kept, int)
    assert round(low * precision) <= kept <= round(high * precision) or kept == columns
    assert kept <= columns


def test_the_default_count_is_a_coin():
    """At epsilon 1 with 10,000 coefficients, whatever the truth."""
    sparsifier = Sparsifier()
    low, high = sparsifier.bounds(10_000)
    epsilon = math.sqrt(2 * sparsifier.budget_share * rho_of(1.0, 1e-6))
    for truth in (0, 100, 120, 150, 180, 200, 10_000):
        law = clipped_law(truth, low, high, epsilon)
        assert law.sum() == pytest.approx(1.0)
        assert law[0] + law[-1] > 0.9
        assert 0.47 < law[0] < 0.53 and 0.47 < law[-1] < 0.53


@pytest.mark.parametrize(
    ("size", "bounds"),
    [
        (1, (0, 1)),
        (2, (1, 2)),
        (3, (1, 3)),
        (4, (2, 4)),
        (11, (3, 6)),
        (10**12, (10**6, 2 * 10**6)),
    ],
)
def test_default_bounds(size, bounds):
    assert Sparsifier().bounds(size) == bounds


@given(st.integers(1, 10**30))
def test_default_bounds_always_serve(size):
    low, high = Sparsifier().bounds(size)
    assert 0 <= low < high <= size
    if size > 1:
        assert low**2 <= size < (low + 1) ** 2 and high**2 <= 4 * size < (high + 1) ** 2


def test_given_bounds_win():
    assert Sparsifier(low=2).bounds(100) == (2, 20)
    assert Sparsifier(high=12).bounds(100) == (10, 12)
    assert Sparsifier(low=np.int64(0), high=100).bounds(100) == (0, 100)


@pytest.mark.parametrize(
    ("given", "size"),
    [({"low": 30}, 100), ({"high": 10}, 100), ({"high": 101}, 100), ({"low": 5, "high": 5}, 100)],
)
def test_bounds_that_do_not_fit_are_refused(given, size):
    with pytest.raises(ValueError, match=r"^low and high .*; give both to Sparsifier$"):
        Sparsifier(**given).bounds(size)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("budget_share", value) for value in (0.0, 1.0, -0.1, math.nan, "0.1", True)),
        *(("precision", value) for value in (0.0, -1.0, math.inf, math.nan, None)),
        *(("low", value) for value in (-1, 2.0, True, "2")),
        *(("high", value) for value in (0, 2.5, True)),
    ],
)
def test_parameters_that_are_refused(name, value):
    with pytest.raises(ValueError, match=f"^{name} must be"):
        Sparsifier(**{name: value})


@pytest.mark.parametrize(("loss", "size"), [(SoftmaxLoss(range(3)), 25), (SQUARED, 27)])
def test_a_size_that_does_not_fit_is_refused(loss, size):
    matrix, y = diagonal(7)
    with pytest.raises(ValueError, match=r"^size must be .*; it is the number of coefficients$"):
        Sparsifier().keep(matrix, y, loss, 1.0, size=size, epsilon=1.0, generator=seeded(1))


def test_a_size_must_be_a_whole_number():
    with pytest.raises(ValueError, match=r"^size must be an integer of at least 1"):
        Sparsifier().bounds(0)


def test_a_real_lasso_is_counted():
    """Of forty columns three tell the classes apart; at a small radius no other is used."""
    rng = seeded(8)
    X = rng.uniform(-1, 1, (2000, 40))
    y = (X[:, 4] - X[:, 9] + X[:, 30] > 0).astype(float)
    kept = Sparsifier(low=0, high=40).keep(
        ColumnMatrix.of(X), y, LogisticLoss(), 3.0, size=40, epsilon=math.inf, generator=rng
    )
    assert kept == 3


sizes = st.integers(-3, 3).map(float)  # few values: many ties and zeros


@st.composite
def matrices(draw):
    rows, columns = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    return np.array(
        draw(st.lists(sizes, min_size=rows * columns, max_size=rows * columns))
    ).reshape(rows, columns)


@settings(max_examples=300, deadline=None)
@given(matrices(), st.integers(0, 30))
def test_keep_largest(dense, k):
    weights = sp.csr_array(dense)
    before = weights.copy()
    kept = keep_largest(weights, k)
    # One at a time, the first of the largest in the order of classes, then columns.
    expected, left = np.zeros_like(dense), dense.copy()
    for _ in range(min(k, dense.size)):
        place = np.unravel_index(np.argmax(np.abs(left)), left.shape)
        expected[place], left[place] = dense[place], 0.0
        if not left.any():
            break
    assert np.array_equal(kept.toarray(), expected)
    assert kept.nnz == np.count_nonzero(expected) and np.all(kept.data != 0.0)
    assert np.array_equal(weights.toarray(), before.toarray())
    assert isinstance(kept, sp.csr_array) and kept.shape == dense.shape


def test_keep_largest_of_a_matrix_out_of_order():
    """Columns in any order, an explicit zero, an entry in two parts."""
    weights = sp.csr_array(([1.0, -1.0, 0.0, 2.0, 2.0], [3, 1, 2, 0, 0], [0, 3, 5]), shape=(2, 4))
    assert keep_largest(weights, 2).toarray().tolist() == [[0, -1, 0, 0], [4, 0, 0, 0]]
    assert keep_largest(weights, 10).nnz == 3


@pytest.mark.parametrize("k", [-1, 1.0, True])
def test_a_number_to_keep_that_is_none_is_refused(k):
    with pytest.raises(ValueError, match=r"^k must be an integer of at least 0"):
        keep_largest(sp.csr_array(np.eye(2)), k)


def listing(X, y, rounds, radius, noise, rng, pick):
    """Private LASSO as the paper's appendix lists it; ``pick`` is what its line 43 does."""
    w = np.zeros(X.shape[1])
    for t in range(1, rounds):
        gradient = X.T @ (1.0 / (1.0 + np.exp(-X @ w)) - y) / len(y)
        scores = np.concatenate([radius * gradient, -radius * gradient])
        chosen = pick(scores + rng.laplace(scale=noise, size=len(scores)))
        vertex = np.zeros(X.shape[1])
        vertex[chosen % X.shape[1]] = radius if chosen < X.shape[1] else -radius
        w += 2.0 / (t + 2.0) * (vertex - w)
    return w


def lowers_the_loss(w, X, y):
    """Whether weights are better than none."""
    loss = LogisticLoss()
    return loss.value((X @ w)[:, None], y) < 0.9 * loss.value(np.zeros((len(y), 1)), y)


def test_a_fit_that_climbs_is_noticed():
    """Line 43 of the listing takes the largest score where the smallest is meant."""
    rng = seeded(4)
    X = rng.uniform(-1, 1, (500, 10))
    y = (X[:, 0] > 0).astype(float)
    ours = PrivateLassoClassifier(
        100.0, classes=[0, 1], radius=3.0, max_iter=30, fit_intercept=False, n_nonzero=Sparsifier()
    ).fit(X, y)
    assert lowers_the_loss(ours.coef_[0], X, y)
    assert lowers_the_loss(listing(X, y, 30, 3.0, 1e-3, rng, np.argmin), X, y)
    assert not lowers_the_loss(listing(X, y, 30, 3.0, 1e-3, rng, np.argmax), X, y)
