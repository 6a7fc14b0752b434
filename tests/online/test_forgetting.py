"""Rows that fade: computed from releases, so that the account does not change."""

import math

import numpy as np
import pytest

from dplasso import PrivateOnlineClassifier, PrivateOnlineRegressor
from dplasso.kernels.stream_steps import fresh_share
from dplasso.online.forgetting import Forgetting

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("half_life", [0.5, 3.0, 1000.0])
def test_a_faded_sum_counts_every_row_by_its_age(half_life):
    rng = np.random.default_rng(0)
    rows, faded, sizes = rng.normal(size=(40, 3)), Forgetting(3, half_life), []
    for t in range(1, 41):
        found, counted = faded.of(rows[:t].sum(axis=0), 1)
        ages = 0.5 ** (np.arange(t)[::-1] / half_life)
        assert np.allclose(found, ages @ rows[:t], rtol=1e-9, atol=1e-9)
        sizes.append(counted)
        assert math.isclose(counted, ages.sum(), rel_tol=1e-9)
    assert max(sizes) <= 1.0 / (1.0 - 0.5 ** (1.0 / half_life)) + 1e-9


def problem(count=300):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(count, 4))
    return X, (X[:, 0] > 0).astype(int)


def made(half_life, **options):
    usual = {"window": 50, "classes": [0, 1], "random_state": 3}
    return PrivateOnlineClassifier(**{**usual, "half_life": half_life, **options})


@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("domain", ["l2", "box"])
def test_weights_are_a_function_of_the_sums_that_are_released_without_it(batch, domain):
    """An adversary who sees the released sums computes the weights: nothing else is released."""
    X, y = problem()
    model = made(20.0, batch=batch, domain=domain)
    model.fit(X[:batch], y[:batch])
    total, plan = model.stream_.total, model.stream_.plan
    faded, average = Forgetting(5, 20.0), np.zeros(5)
    assert plan.averaging == 6.0 / 20.0  # averaged weights are no older than rows that count

    def released():
        noise = total.noise.at(total.position)
        return ((total.total + noise.values).astype(float) + 0.5 * noise.floors) * total.unit

    for first in range(0, 300, batch):
        if first:
            model.partial_fit(X[first : first + batch], y[first : first + batch])
        found, counted = faded.of(released(), batch)
        raw = -found / (plan.regularisation * (counted + plan.start_rows))
        share = fresh_share(plan.averaging, float(first + batch), float(batch))
        average = average + share * (plan.domain.project(raw) - average)
        assert np.allclose(model.stream_.weights[0], average, rtol=1e-9)


@pytest.mark.parametrize("half_life", [1.0, 30.0])
def test_the_account_is_the_same_with_and_without_a_half_life(half_life):
    X, y = problem()
    with_it, without = made(half_life).fit(X, y), made(None).fit(X, y)
    for name in ("epsilon", "delta", "mu", "rho", "window_rows", "rows_expired", "whole_stream"):
        assert with_it.privacy_[name] == without.privacy_[name]
    assert with_it.stream_.total.event == without.stream_.total.event
    assert with_it.privacy_["public"]["half_life"]["value"] == half_life
    assert "half_life" not in without.privacy_["public"]


def test_a_very_long_half_life_is_none():
    X, y = problem()
    assert np.allclose(made(1e12).fit(X, y).coef_, made(None).fit(X, y).coef_, rtol=1e-6)


@pytest.mark.parametrize("learner", ["projection", "oracle"])
def test_a_state_goes_on_forgetting_bit_by_bit(tmp_path, learner):
    X, y = problem()
    whole = made(15.0, learner=learner).fit(X, y)
    part = made(15.0, learner=learner).fit(X[:130], y[:130])
    part.save_state(tmp_path / "state")
    again = made(15.0, learner=learner).load_state(tmp_path / "state")
    again.partial_fit(X[130:], y[130:])
    assert np.array_equal(again.coef_, whole.coef_)
    with pytest.raises(ValueError, match="half_life is not what it was"):
        again.save_state(tmp_path / "state")
        made(16.0, learner=learner).load_state(tmp_path / "state")


def test_rows_by_name_fade_as_those_of_a_matrix():
    X, y = problem()
    names = ["a", "b", "c", "d"]
    one, whole = made(15.0, feature_names=names), made(15.0, feature_names=names).fit(X, y)
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        one.learn_one(dict(zip(names, row, strict=True)), label)
    assert np.array_equal(one.coef_, whole.coef_)


def test_a_model_that_forgets_follows_labels_that_flip():
    X, y = problem(6000)
    flipped = np.concatenate([y[:3000], 1 - y[3000:]])
    scores = {
        half_life: np.mean(
            (
                made(half_life, epsilon=8.0, regularisation=0.02).predict_then_learn(X, flipped)
                == flipped
            )[3000:4000]
        )
        for half_life in (None, 300.0)
    }
    assert scores[None] < 0.3 and scores[300.0] > 0.75


@pytest.mark.parametrize("half_life", [0.0, -1.0, math.nan, "long"])
def test_a_half_life_that_is_none_is_refused(half_life):
    X, y = problem(5)
    with pytest.raises(ValueError, match="half_life"):
        made(half_life).fit(X, y)
    with pytest.raises(ValueError, match="half_life"):
        PrivateOnlineRegressor(y_bound=1.0, half_life=half_life).fit(X, y)
