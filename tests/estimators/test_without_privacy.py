"""Epsilon = infinity: the optimum a reference solver finds."""

import math
import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Lasso

from dplasso import PrivateLassoClassifier, PrivateLassoRegressor
from reference import l1_logistic

BESIDE = Path(__file__).resolve().parents[2].parent / "shared" / "data"
SETS = Path(os.environ.get("DPLASSO_DATA", BESIDE))


def made_up():
    rng = np.random.default_rng(0)
    X = sp.random_array((1000, 300), density=0.1, rng=rng, format="csr")
    return X, (X[:, :5].sum(axis=1) + 0.5 * rng.normal(size=1000) > 0.2).astype(int)


def real(name):
    if not (SETS / name / "X.npz").exists():
        pytest.skip(f"{name} is not at hand (DPLASSO_DATA)")
    X = sp.csr_array(sp.load_npz(SETS / name / "X.npz")).astype(float)
    return X, np.load(SETS / name / "y.npy")


@pytest.mark.parametrize("name", ["made up", "a9a", "reuters21578_usa"])
@pytest.mark.parametrize("C", [0.1, 1.0])
def test_logistic_loss_is_within_a_thousandth_of_liblinears(name, C):
    X, y = made_up() if name == "made up" else real(name)
    theirs = l1_logistic(C=C, fit_intercept=False, tol=1e-6, max_iter=1000).fit(X, y)
    ours = PrivateLassoClassifier(
        epsilon=math.inf,
        radius=float(np.abs(theirs.coef_).sum()),
        x_bound=float(abs(X).max()),
        fit_intercept=False,
        classes=np.unique(y),
    ).fit(X, y)
    losses = [
        -np.take_along_axis(
            model.predict_log_proba(X), np.searchsorted(model.classes_, y)[:, None], axis=1
        ).sum()
        for model in (ours, theirs)
    ]
    assert losses[0] <= losses[1] * (1 + 1e-3)
    assert np.abs(ours.coef_).sum() <= np.abs(theirs.coef_).sum() * (1 + 1e-9)
    assert ours.vertices_.shape == (0, 2)


def test_squared_loss_is_within_a_thousandth_of_scikit_learns():
    X, _ = made_up()
    y = np.clip(X[:, :5].sum(axis=1), -1, 1)
    theirs = Lasso(alpha=1e-3, fit_intercept=False, tol=1e-8).fit(X, y)
    ours = PrivateLassoRegressor(
        epsilon=math.inf, radius=float(np.abs(theirs.coef_).sum()), fit_intercept=False
    ).fit(X, y)
    losses = [np.sum((model.predict(X) - y) ** 2) for model in (ours, theirs)]
    assert losses[0] <= losses[1] * (1 + 1e-3)


def test_rounds_can_be_asked_for_and_are_greedy():
    X, y = made_up()
    options = {"epsilon": math.inf, "classes": [0, 1], "max_iter": 50, "radius": 20.0}
    lazy, plain = (
        PrivateLassoClassifier(selection=rule, **options).fit(X, y) for rule in ("lazy", "argmax")
    )
    assert lazy.n_iter_ == 50 and lazy.vertices_.shape == (50, 2)
    np.testing.assert_array_equal(lazy.vertices_, plain.vertices_)
    assert lazy.score(X, y) > 0.7
