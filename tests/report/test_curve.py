"""The curve over epsilon: fresh fits on public rows, scored on rows they have not seen."""

import math

import numpy as np
import pandas as pd
import pytest

from dplasso import PrivateLassoClassifier, PrivateLassoRegressor
from dplasso.report import accuracy_curve


def data(rows=900):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (rows, 6))
    return X, (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)


class Refuses:
    def charge(self, event, *, delta, neighboring, label):
        raise AssertionError("public rows cost nothing")


def test_more_privacy_is_less_accuracy_and_costs_nothing():
    X, y = data()
    model = PrivateLassoClassifier(5.0, classes=[0, 1], n_rows=900).fit(X, y)
    model.accountant = Refuses()
    before = model.vertices_.copy()
    curve = accuracy_curve(model, X, y, epsilons=(0.01, 10.0, math.inf))
    assert [point[0] for point in curve] == [0.01, 10.0, math.inf]
    assert curve[0][1] < curve[1][1] and curve[2][1] > 0.95
    for _, mean, least, most in curve:
        assert 0.0 <= least <= mean <= most <= 1.0
    np.testing.assert_array_equal(model.vertices_, before)


def test_bounds_by_name_and_numbers_to_predict():
    X, y = data()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = PrivateLassoRegressor(5.0, x_bound=dict.fromkeys("abcdef", 1.0), n_rows=900)
    ((_, mean, _, _),) = accuracy_curve(model.fit(frame, y), X, y, epsilons=(math.inf,))
    assert mean == pytest.approx(0.6, abs=0.2)


def test_too_few_rows_give_no_curve():
    X, y = data()
    model = PrivateLassoClassifier(5.0, classes=[0, 1], n_rows=900).fit(X, y)
    assert accuracy_curve(model, X[:20], y[:20]) == []
