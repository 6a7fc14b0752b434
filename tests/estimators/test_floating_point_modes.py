"""Neither warnings nor refusals depend on how numpy treats what finite rows come to."""

import dataclasses
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from dplasso import (
    PrivateLassoClassifier,
    PrivateOnlineClassifier,
    PrivateOnlineRegressor,
    PrivateSearch,
)

PUBLIC = {"classes": [0, 1], "n_rows": 60, "x_bound": 1.0}
FITS = {
    "fit": lambda: PrivateLassoClassifier(**PUBLIC),
    "gradient": lambda: PrivateLassoClassifier(**PUBLIC, solver="gradient"),
    "search": lambda: PrivateSearch(
        PrivateLassoClassifier(**PUBLIC), {"radius": [1.0, 2.0]}, epsilon=3.0, trials=2.0
    ),
    "stream": lambda: PrivateOnlineClassifier(classes=[0, 1], n_features=5),
    "stream as is": lambda: PrivateOnlineClassifier(classes=[0, 1], n_features=5, row_map="as_is"),
    "regression": lambda: PrivateOnlineRegressor(y_bound=1.0),
}


def rows_of(kind):
    X = np.random.default_rng(0).uniform(-1, 1, (60, 5))
    if kind == "huge":
        X[7], X[8] = 1.7e308, -1.7e308
    if kind == "tiny":
        X[7] = 5e-324
    return X, (np.arange(60) % 2)


@pytest.mark.parametrize("kind", ["plain", "huge", "tiny"])
@pytest.mark.parametrize("name", FITS)
def test_finite_rows_are_taken_in_silence_whatever_numpy_is_set_to(name, kind):
    X, y = rows_of(kind)
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = FITS[name]().fit(X, y)
        model.predict(X)
        model.predict(sp.csr_array(X))
    with np.errstate(all="warn"), warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        FITS[name]().fit(X, y).predict(X)


def test_one_row_of_a_stream_is_taken_in_silence():
    with np.errstate(all="raise"):
        model = PrivateOnlineClassifier(classes=[0, 1], n_features=5)
        for value in (1.7e308, -1.7e308, 5e-324):
            model.learn_one({"a": value, "b": value}, 1)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_array, sp.coo_array])
def test_long_doubles_are_predicted_as_doubles(form):
    X, y = rows_of("plain")
    model = PrivateLassoClassifier(**PUBLIC, epsilon=9.0, max_iter=20, radius=3.0).fit(X, y)
    # Products with weights that cancel in double precision only.
    weights = sp.csr_array(np.array([[1.0, 2.0**-60, -1.0, 0.0, 0.0]]))
    model.restore(dataclasses.replace(model.fitted_, weights=weights, intercepts=np.zeros(1)))
    ones = np.ones((3, 5))
    long = model.decision_function(form(ones.astype(np.longdouble)))
    assert np.array_equal(long, model.decision_function(form(ones)))
    assert np.array_equal(long, model.decision_function(ones.astype(np.float32)))
