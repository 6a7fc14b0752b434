"""Fits are charged before they draw: one by one, in searches, threads and other processes."""

import math
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

import dplasso
from dplasso import Budget, BudgetError, PrivateLassoClassifier, PrivateLassoRegressor, load
from dplasso.estimators import Sparsifier

OPTIONS = {"epsilon": 0.1, "max_iter": 5, "radius": 3.0, "n_rows": 120}


@pytest.fixture
def budget(tmp_path):
    return Budget(1.0, 1e-6, tmp_path / "budget.sqlite")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (120, 6))
    return X, (X[:, 0] > 0).astype(int)


def classifier(budget, **options):
    return PrivateLassoClassifier(classes=[0, 1], accountant=budget, **{**OPTIONS, **options})


def test_a_fit_is_entered_and_its_statement_says_so(budget, data):
    model = classifier(budget, epsilon=0.5).fit(*data)
    (entry,) = budget.entries()
    assert entry.label == "PrivateLassoClassifier"
    assert entry.rho == pytest.approx(model.privacy_["rho"], rel=1e-12)
    assert model.privacy_["ledger"] == {
        "entry": 1,
        "hash": entry.hash,
        "epsilon_spent": budget.spent_epsilon,
        "epsilon_cap": 1.0,
        "delta": 1e-6,
    }
    assert budget.spent_epsilon == pytest.approx(0.5, rel=1e-6)
    assert f"as entry 1 ({entry.hash[:16]}): 0.5 of its epsilon 1" in str(model.privacy_)


def test_one_fit_may_take_all_of_it(budget, data):
    classifier(budget, epsilon=1.0, n_nonzero=Sparsifier()).fit(*data)
    with pytest.raises(BudgetError):
        classifier(budget, epsilon=0.01).fit(*data)


def test_two_fits_may_take_a_half_each(budget, data):
    half = dplasso.privacy.zcdp.epsilon_of(budget.remaining_rho / 2, 1e-6)
    classifier(budget, epsilon=half).fit(*data)
    PrivateLassoRegressor(**{**OPTIONS, "epsilon": half}, accountant=budget).fit(*data)
    assert budget.spent_epsilon == pytest.approx(1.0, rel=1e-9)


def test_a_fit_that_is_refused_draws_nothing(budget, data):
    generator = np.random.default_rng(0)
    before = generator.bit_generator.state
    model = classifier(budget, epsilon=1.5, random_state=generator)
    dplasso.privacy.leaks._told.clear()
    with pytest.raises(BudgetError, match="epsilon 1 .* is left"), pytest.warns():
        model.fit(*data)
    assert generator.bit_generator.state == before and not hasattr(model, "vertices_")
    assert budget.spent_rho == 0.0


def test_a_fit_without_privacy_is_refused(budget, data):
    with pytest.raises(ValueError, match="epsilon is infinite.*cannot be charged"):
        classifier(budget, epsilon=math.inf).fit(*data)
    assert not budget.entries()


def test_another_relation_is_refused(budget, data):
    with pytest.raises(BudgetError, match="replace_one"):
        classifier(budget, neighboring="replace_one").fit(*data)


def test_a_grid_search_of_16_fits_with_2_workers_is_16_charges(budget, data):
    grid = {"radius": [1.0, 2.0, 3.0, 4.0], "max_iter": [3, 4]}
    search = GridSearchCV(classifier(budget), grid, cv=2, refit=False, n_jobs=2)
    search.fit(*data)
    assert len(budget.entries()) == 16
    assert budget.spent_rho == pytest.approx(16 * dplasso.privacy.zcdp.rho_of(0.1, 1e-6))


def test_a_search_that_exceeds_the_budget_is_stopped_by_it(budget, data):
    model = classifier(budget, epsilon=0.45)
    with pytest.warns(match="BudgetError"):
        scores = cross_val_score(model, *data, cv=8)
    assert len(budget.entries()) == np.isfinite(scores).sum() == 4
    assert budget.spent_epsilon <= 1.0


@pytest.mark.parametrize("before", [0, 1])
def test_a_grid_search_that_was_planned_for_keeps_its_refit(budget, data, before):
    for _ in range(before):
        classifier(budget, epsilon=0.6).fit(*data)
    epsilon = budget.remaining(fits=3 * 3 + 1)
    model = classifier(budget.labelled("search"), epsilon=epsilon)
    search = GridSearchCV(model, {"radius": [1.0, 2.0, 3.0]}, cv=3, error_score="raise")
    search.fit(*data)
    assert search.best_estimator_.privacy_["ledger"]["entry"] == before + 10
    labels = [entry.label for entry in budget.entries()[before:]]
    assert labels == ["search: PrivateLassoClassifier"] * 10
    assert budget.spent_epsilon == pytest.approx(1.0, rel=1e-9)  # all of it was of use
    with pytest.raises(BudgetError, match="nothing is left"):
        classifier(budget, epsilon=0.001).fit(*data)


def test_fits_of_all_kinds_have_what_remains_for_them(budget, data):
    epsilon = budget.remaining(fits=4, delta=1e-8)
    options = {**OPTIONS, "epsilon": epsilon, "delta": 1e-8, "accountant": budget}
    for extra in ({}, {"n_nonzero": Sparsifier()}, {"max_iter": 7, "x_bound": 0.3}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dplasso.PrivacyLeakWarning)
            PrivateLassoClassifier(classes=[0, 1], **{**options, **extra}).fit(*data)
    PrivateLassoRegressor(**options).fit(*data)
    assert len(budget.entries()) == 4 and budget.spent_epsilon <= 1.0


def test_clones_threads_and_workers_share_the_ledger(budget, data):
    model = classifier(budget)
    clone(model).fit(*data)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: clone(model).fit(*data), range(6)))
    Parallel(2, backend="loky")(delayed(clone(model).fit)(*data) for _ in range(6))
    assert [entry.sequence for entry in budget.entries()] == list(range(1, 14))


def test_a_ledger_on_a_server_serves_workers(server, data):
    budget = Budget(1.0, 1e-6, server.url("workers"))
    model = classifier(budget)
    Parallel(2, backend="loky")(delayed(clone(model).fit)(*data) for _ in range(4))
    assert len(budget.entries()) == 4


def test_models_are_saved_without_the_ledger_but_with_its_receipt(budget, data, tmp_path):
    model = classifier(budget).fit(*data)
    model.save(tmp_path / "model.dpl")
    assert b"budget.sqlite" not in (tmp_path / "model.dpl").read_bytes()
    again = load(tmp_path / "model.dpl")
    assert again.accountant is None
    assert str(again.privacy_) == str(model.privacy_)
