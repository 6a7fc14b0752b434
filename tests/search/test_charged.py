"""A search that fails was not charged."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from charging import Counted, deltas, odd, sizes, succeeds_or_costs_nothing, usually
from dplasso import PrivateLassoClassifier, PrivateLassoRegressor, PrivateSearch

counts = st.one_of(st.sampled_from([1, 2, 10, 10**6, 2**40]), odd)
ESTIMATORS = st.fixed_dictionaries(
    {},
    optional={
        "x_bound": st.one_of(sizes, st.just("private"), odd),
        "bound_share": usually(0.05, st.sampled_from([1e-300, 0.5, 1.0 - 2.0**-53, 1.0])),
        "n_rows": counts,
        "solver": st.sampled_from(["frank_wolfe", "gradient", "auto", "other"]),
        "row_map": st.sampled_from(["auto", "as_is", "presence", "sqrt", "blend"]),
        "n_nonzero": counts,
        "neighboring": st.sampled_from(["add_remove", "replace_one", "other"]),
    },
)
SEARCHES = st.fixed_dictionaries(
    {},
    optional={
        "epsilon": st.one_of(usually(1.0, st.floats(1e-6, 1e3)), odd),
        "delta": st.one_of(deltas, odd),
        "trials": st.one_of(st.floats(1.5, 4.0), odd),
        "law": st.sampled_from(["logarithmic", "geometric", "other"]),
        "validation": st.sampled_from([0.2, 0.9, 1e-9, 1.0 - 1e-9, 1.0]),
        "scoring": st.sampled_from(["auto", "accuracy", "squared_error", "other"]),
        "score_weights": st.sampled_from([None, {0: 1.0}, {0: 1.0, 1: 5.0}]),
    },
)
DATA = st.tuples(st.integers(1, 6), st.integers(1, 3), sizes, st.booleans(), st.booleans())


def problem(rows, columns, size, sparse, beyond):
    """Rows, and labels that may be outside of the two classes that are declared."""
    rng = np.random.default_rng(rows)
    X = rng.uniform(-1, 1, (rows, columns)) * size
    return sp.csr_array(X) if sparse else X, rng.integers(0, 2 + beyond, rows)


@settings(max_examples=80, deadline=None)
@given(st.booleans(), ESTIMATORS, SEARCHES, DATA)
def test_a_search_that_fails_costs_nothing(classifies, options, asked, data):
    X, y = problem(*data)
    if classifies:
        model = PrivateLassoClassifier(classes=[0, 1], n_jobs=1, **options)
    else:
        model = PrivateLassoRegressor(y_bound=1.0, n_jobs=1, **options)
    accountant = Counted()
    search = PrivateSearch(
        model, {"selection": ["lazy"]}, accountant=accountant, **{"trials": 2.0, **asked}
    )
    assert succeeds_or_costs_nothing(lambda: search.fit(X, y), accountant)


@pytest.mark.parametrize("n_rows", [None, 60])
@pytest.mark.parametrize("n_nonzero", [None, 2])
@pytest.mark.parametrize("solver", ["frank_wolfe", "gradient", "auto"])
def test_rows_that_are_replaced_are_searched_by_every_solver(solver, n_nonzero, n_rows):
    """How many rows are trained on is up to coins, which need not hit the planned number."""
    rng = np.random.default_rng(0)
    X = sp.random_array((60, 1200), density=0.01, rng=rng)
    model = PrivateLassoClassifier(
        classes=[0, 1],
        n_rows=n_rows,
        x_bound=1.0,
        solver=solver,
        n_nonzero=n_nonzero,
        neighboring="replace_one",
    )
    accountant = Counted()
    search = PrivateSearch(model, {"row_map": ["as_is", "sqrt"]}, trials=2.0, accountant=accountant)
    found = search.fit(X, np.arange(60) % 2)
    assert found.privacy_["neighboring"] == "replace_one" and accountant.charges == 1


def test_rows_that_coins_leave_none_of_cost_nothing():
    X, y = np.ones((3, 2)), np.array([0, 1, 0])
    model = PrivateLassoClassifier(classes=[0, 1], n_rows=3, x_bound=1.0)
    accountant = Counted()
    search = PrivateSearch(
        model, {"radius": [1.0]}, validation=1.0 - 1e-12, accountant=accountant, trials=2.0
    )
    with pytest.raises(ValueError, match="none was left to train on"):
        search.fit(X, y)
    assert accountant.charges == 0


FLAT = np.random.default_rng(5).uniform(-1, 1, (120, 4))


def searched(X, y, classes, seed=0):
    """A search, and how often it was charged."""
    accountant = Counted()
    search = PrivateSearch(
        PrivateLassoClassifier(classes=classes, n_rows=120, x_bound=1.0),
        {"radius": [1.0, 2.0]},
        epsilon=3.0,
        trials=3.0,
        accountant=accountant,
        random_state=seed,
    )
    return search, succeeds_or_costs_nothing(lambda: search.fit(X, y), accountant)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, object])
def test_labels_of_any_precision_are_scored_or_refused_first(kind):
    y = np.where(FLAT[:, 0] > 0, 0.1, 0.2)
    search, sound = searched(FLAT, y.astype(kind), [0.1, 0.2])
    assert sound and hasattr(search, "best_score_") == (kind in (np.float64, object))


def test_a_search_scores_labels_alike_in_any_precision():
    y = np.where(FLAT[:, 0] > 0, 1.0, 2.5)
    scores = [
        searched(FLAT, y.astype(kind), [1.0, 2.5])[0].best_score_
        for kind in (np.float16, np.float32, np.float64, np.longdouble, object)
    ]
    assert len(set(scores)) == 1


def test_numbers_that_double_precision_does_not_hold_are_refused_first():
    X = FLAT.astype(np.longdouble)
    X[7, 0] = np.longdouble("1e4000")
    if np.isinf(X[7, 0]):
        pytest.skip("long doubles are no longer than doubles here")
    search, sound = searched(X, (FLAT[:, 0] > 0).astype(int), [0, 1])
    assert sound and not hasattr(search, "best_score_")
