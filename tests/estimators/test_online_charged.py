"""A stream whose first rows are refused was not charged."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from charging import Counted, deltas, odd, sizes, succeeds_or_costs_nothing, usually
from dplasso import PrivateOnlineClassifier, PrivateOnlineRegressor

counts = st.one_of(st.integers(1, 40), odd)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "epsilon": st.one_of(usually(1.0, sizes), odd),
        "delta": usually(1e-6, deltas),
        "window": counts,
        "n_rows": counts,
        "batch": st.one_of(counts, st.just("call")),
        "domain": st.sampled_from(["l2", "l1", "simplex", "box"]),
        "radius": usually("auto", sizes),
        "regularisation": usually("auto", sizes),
        "start_rows": usually("auto", sizes),
        "clip": usually("auto", sizes),
        "learner": st.sampled_from(["projection", "oracle"]),
        "construction": st.sampled_from(["auto", "buffered", "band", "tree", "window_tree"]),
        "noise": usually("gaussian", st.just("gamma")),
        "calibration": usually("tight", st.just("paper")),
        "row_map": st.sampled_from(["unit", "as_is"]),
        "fit_intercept": st.booleans(),
        "n_features": usually(None, counts),
        "neighboring": st.sampled_from(["add_remove", "replace_one"]),
    },
)


@settings(max_examples=150, deadline=None)
@given(st.booleans(), OPTIONS, st.integers(1, 9), st.integers(1, 3), sizes, st.booleans())
def test_a_stream_that_does_not_begin_costs_nothing(
    classifies, options, rows, columns, size, beyond
):
    rng, accountant = np.random.default_rng(rows), Counted()
    X = rng.uniform(-1, 1, (rows, columns)) * size
    y = rng.integers(0, 2 + beyond, rows)
    if classifies:
        model = PrivateOnlineClassifier(classes=[0, 1], accountant=accountant, **options)
    else:
        model = PrivateOnlineRegressor(y_bound=1.0, accountant=accountant, **options)
    assert succeeds_or_costs_nothing(lambda: model.partial_fit(X, y), accountant)


def classifier(accountant, **options):
    return PrivateOnlineClassifier(classes=[0, 1], n_features=3, accountant=accountant, **options)


@pytest.mark.parametrize(
    ("X", "y", "options"),
    [
        (np.ones((2, 3)), [0, 2], {}),
        (np.ones((2, 3)), [0, 1], {"n_rows": 1}),
        (np.ones((2, 4)), [0, 1], {}),
        (np.full((2, 3), math.nan), [0, 1], {}),
        (np.ones((2, 3)), [0, 1, 1], {}),
    ],
)
def test_rows_that_are_refused_cost_nothing(X, y, options):
    accountant = Counted()
    model = classifier(accountant, **options)
    with pytest.raises(ValueError):
        model.partial_fit(X, y)
    assert accountant.charges == 0 and not hasattr(model, "coef_")
    model = classifier(accountant, **options).partial_fit(np.ones((1, 3)), [1])
    assert accountant.charges == 1 and model.rows_seen_ == 1


@pytest.mark.parametrize(
    ("row", "label"), [({"a": object()}, 0), ({"a": math.inf}, 0), ({"a": 1.0}, 7)]
)
def test_rows_by_name_that_are_refused_cost_nothing(row, label):
    accountant = Counted()
    model = classifier(accountant)
    with pytest.raises(ValueError):
        model.learn_one(row, label)
    if label == 0:
        with pytest.raises(ValueError):
            model.predict_one(row)
    assert accountant.charges == 0
    model.learn_one({"a": 1.0}, 1)
    assert accountant.charges == 1


@pytest.mark.parametrize("regularisation", [1e-300, 1e300])
def test_weights_that_hardly_move_are_no_error(regularisation):
    """The way to the next weights may be shorter than numbers can tell."""
    model = PrivateOnlineRegressor(
        y_bound=1.0, domain="l1", learner="oracle", regularisation=regularisation
    )
    X = np.random.default_rng(0).uniform(-1, 1, (7, 1))
    assert np.isfinite(model.partial_fit(X, X[:, 0]).coef_).all()


@pytest.mark.parametrize("calibration", ["tight", "paper"])
def test_a_budget_that_no_noise_can_keep_is_refused_by_name(calibration):
    model = classifier(None, epsilon=5e-324, delta=1e-300, n_rows=10, calibration=calibration)
    with pytest.raises(ValueError, match="epsilon"):
        model.partial_fit(np.ones((1, 3)), [1])
