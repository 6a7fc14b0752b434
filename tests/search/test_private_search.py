"""A search: charged once and first, nothing said of how many trials, and the best one kept."""

import math
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import estimator_checks_generator

import dplasso
from dplasso import (
    Budget,
    BudgetError,
    ColumnMatrix,
    PrivateLassoClassifier,
    PrivateLassoRegressor,
    PrivateSearch,
    Schema,
    TableEncoder,
    load,
    read_rows,
)
from dplasso.privacy.events import Selected, ZeroConcentrated
from dplasso.privacy.trials import epsilon_of
from dplasso.schema import Number, Target
from dplasso.search import private_search
from dplasso.search.trial import Trials

seeds = pytest.mark.filterwarnings("ignore:random_state:dplasso.PrivacyLeakWarning")
ROWS = 2000
GRID = {"radius": [1e-3, 8.0], "max_iter": [20]}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (ROWS, 8))
    return X, (X[:, 2] > 0).astype(int)


def classifier(**options):
    return PrivateLassoClassifier(classes=[0, 1], n_rows=ROWS, x_bound=1.0, **options)


def search(estimator=None, **options):
    estimator = classifier() if estimator is None else estimator
    return PrivateSearch(estimator, **{"grid": GRID, "epsilon": 3.0, "trials": 6.0, **options})


@seeds
def test_it_finds_what_works_and_hands_it_over(data, tmp_path, monkeypatch):
    monkeypatch.setattr(private_search, "trial_count", lambda *_: 10)
    grid = {"x_bound": [1e6, 1.0], "max_iter": [20]}  # a bound so wide finds nothing
    weights = {0: 1.0, 1: 1.0}
    found = search(grid=grid, epsilon=30.0, score_weights=weights, random_state=1).fit(*data)
    assert found.best_params_["x_bound"] == 1.0
    model = found.best_estimator_
    assert np.array_equal(found.predict(data[0]), model.predict(data[0]))
    assert np.array_equal(found.predict_proba(data[0]), model.predict_proba(data[0]))
    assert found.score(*data) == model.score(*data) > 0.9
    assert found.best_score_ == pytest.approx(found.score(*data), abs=0.2)
    model.save(tmp_path / "model.dpl")
    again = load(tmp_path / "model.dpl")
    assert again.privacy_ == found.privacy_ and "search" in again.privacy_
    assert np.array_equal(again.predict(data[0]), model.predict(data[0]))


def test_the_best_score_is_kept(data, monkeypatch):
    scores, one = [], Trials.one

    def noted(self):
        outcome = one(self)
        scores.append(outcome.score)
        return outcome

    monkeypatch.setattr(Trials, "one", noted)
    monkeypatch.setattr(private_search, "trial_count", lambda *_: 9)
    found = search().fit(*data)
    assert len(scores) == 9
    assert found.best_score_ == max(scores) / (ROWS * 0.2)


def test_a_search_is_charged_once_at_its_epsilon(data, tmp_path):
    budget = Budget(1.0, 1e-6, tmp_path / "budget.sqlite")
    found = search(epsilon=0.7, accountant=budget.labelled("study")).fit(*data)
    (entry,) = budget.entries()
    assert entry.label == "study: PrivateSearch of PrivateLassoClassifier"
    assert budget.spent_epsilon == pytest.approx(0.7, rel=1e-9) and budget.spent_epsilon <= 0.7
    assert isinstance(entry.event, Selected) and isinstance(entry.event.event, ZeroConcentrated)
    stated = found.privacy_["search"]
    assert entry.event.event.rho == stated["trial_rho"] and entry.event.stop == stated["stop"]
    assert found.privacy_["ledger"]["entry"] == 1
    assert found.best_estimator_.accountant is None
    PrivateLassoClassifier(budget.remaining(), classes=[0, 1], n_rows=ROWS, accountant=budget).fit(
        *data
    )
    assert budget.spent_epsilon == pytest.approx(1.0, rel=1e-6)


def test_a_search_may_take_a_whole_budget(data, tmp_path):
    budget = Budget(1.0, 1e-6, tmp_path / "budget.sqlite")
    search(epsilon=1.0, accountant=budget).fit(*data)
    with pytest.raises(BudgetError):
        search(epsilon=0.01, accountant=budget).fit(*data)


@seeds
def test_a_search_that_is_refused_draws_its_coins_and_nothing_else(data, tmp_path):
    budget = Budget(1.0, 1e-6, tmp_path / "budget.sqlite")
    generator, coins = np.random.default_rng(0), np.random.default_rng(0)
    coins.random(ROWS)  # which read no data
    asked = search(epsilon=1.01, accountant=budget, random_state=generator)
    with pytest.raises(BudgetError, match="lower epsilon or the number of trials"):
        asked.fit(*data)
    assert generator.bit_generator.state == coins.bit_generator.state
    assert not budget.entries() and not hasattr(asked, "best_estimator_")


def test_a_search_that_fails_midway_stays_charged(data, tmp_path, monkeypatch):
    budget = Budget(1.0, 1e-6, tmp_path / "budget.sqlite")
    monkeypatch.setattr(Trials, "one", lambda self: 1 / 0)
    asked = search(epsilon=1.0, accountant=budget)
    with pytest.raises(ZeroDivisionError):
        asked.fit(*data)
    assert budget.spent_epsilon == pytest.approx(1.0) and not hasattr(asked, "best_estimator_")


KILLED = """
import os, signal, sys
import numpy as np
from dplasso import Budget, PrivateLassoClassifier, PrivateSearch
from dplasso.search.trial import Trials
Trials.one = lambda self: os.kill(os.getpid(), signal.SIGKILL)
budget = Budget(1.0, 1e-6, sys.argv[1])
model = PrivateLassoClassifier(classes=[0, 1], n_rows=50)
rows = np.zeros((50, 2)), np.arange(50) % 2
PrivateSearch(model, {"radius": [1.0]}, epsilon=0.5, accountant=budget).fit(*rows)
"""


def test_a_search_that_is_killed_stays_charged(tmp_path):
    store = str(tmp_path / "budget.sqlite")
    ended = subprocess.run([sys.executable, "-c", KILLED, store], timeout=120, check=False)
    assert ended.returncode < 0
    assert Budget.open(store).spent_epsilon == pytest.approx(0.5, rel=1e-9)


@pytest.mark.parametrize("count", [1, 8])
def test_nothing_tells_how_many_trials_there_were(data, monkeypatch, capfd, count):
    monkeypatch.setattr(private_search, "trial_count", lambda *_: count)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = PrivateLassoClassifier(verbose=1)  # what is left out is told, each once
        found = search(model, grid={"radius": [2.0], "max_iter": [3]}).fit(*data)
    for left_out in ("classes were read", "number of rows is not", "x_bound is not"):
        assert sum(left_out in str(warning.message) for warning in told) == 1
    assert len(told) == 3 and capfd.readouterr() == ("", "")
    assert sorted(vars(found)) == sorted(
        [*found.get_params(deep=False), "best_estimator_", "best_params_", "best_score_"]
        + ["n_features_in_", "privacy_"]
    )
    assert found.privacy_["public"]["classes"]["source"] == "READ FROM THE DATA"


def test_the_statement_is_that_of_the_search(data):
    found = search(epsilon=0.9, trials=12.0).fit(*data)
    stated = found.privacy_
    assert stated is found.best_estimator_.privacy_
    assert (stated["epsilon"], stated["delta"]) == (0.9, 1e-6)
    assert "rho" not in stated and "mu" not in stated
    terms = stated["search"]
    assert terms["trials"] == pytest.approx(12.0) and terms["law"] == "logarithmic"
    spent = epsilon_of(terms["trial_rho"], 1e-6, terms["stop"], terms["law"])
    assert spent == pytest.approx(0.9, rel=1e-9) and spent <= 0.9
    text = str(stated)
    assert "(0.9, 1e-06)-differentially private" in text
    assert "random and secret number of trials (12 on average, logarithmic)" in text
    assert "a score on the validation rows (Gaussian noise on a grid" in text
    assert stated["public"]["n_rows"]["value"] == round(0.8 * ROWS)
    assert stated["bounds"]["radius"]["source"] == "chosen by the search"
    assert stated["bounds"]["x_bound"]["source"] == "declared"


def test_the_statement_says_that_a_score_used_the_number_of_rows(data):
    """Also where no fit does: hinge loss has no correction, radius and rounds are given."""
    model = PrivateLassoClassifier(classes=[0, 1], x_bound=1.0, loss="hinge")
    stated = search(model, grid=GRID).fit(*data).privacy_
    assert stated["public"]["n_rows"] == {"value": ROWS, "source": "READ FROM THE DATA"}


@pytest.mark.parametrize("solver", ["frank_wolfe", "gradient"])
def test_a_regressor(data, solver):
    X, _ = data
    model = PrivateLassoRegressor(n_rows=ROWS, x_bound=1.0, y_bound=2.0, solver=solver)
    grid = [{"row_map": ["as_is"]}, {"row_map": ["sqrt"], "residual_bound": [0.5, 1.0]}]
    found = search(model, grid=grid, epsilon=20.0, scoring="absolute_error").fit(X, 2 * X[:, 1])
    assert is_regressor(found) and not hasattr(found, "predict_proba")
    assert found.best_params_ in list(private_search.ParameterGrid(grid))
    assert found.predict(X).shape == (ROWS,) and np.isfinite(found.best_score_)


def test_sparse_rows_frames_and_texts(data):
    X, y = data
    labels = np.array(["no", "yes"], dtype=object)[y]
    model = PrivateLassoClassifier(classes=["no", "yes"], n_rows=ROWS)
    for rows in (sp.csr_array(X), sp.coo_array(X), sp.csc_matrix(X)):
        assert set(search(model, epsilon=20.0).fit(rows, labels).predict(rows)) <= {"no", "yes"}
    frame = pd.DataFrame(X, columns=[f"c{k}" for k in range(8)])
    bounds = dict.fromkeys(frame, 1.0)
    found = search(model, grid={"x_bound": [bounds, 0.5]}).fit(frame, labels)
    assert list(found.feature_names_in_) == list(frame)
    assert list(found.best_estimator_.feature_names_in_) == list(frame)
    piped = make_pipeline(FunctionTransformer(), search(model)).fit(X, labels)
    assert piped.predict(X).shape == (ROWS,)


@seeds
def test_a_seed_repeats_a_search_and_the_statement_says_so(data):
    one, other = (search(random_state=3).fit(*data) for _ in range(2))
    assert one.best_params_ == other.best_params_ and one.best_score_ == other.best_score_
    assert np.array_equal(one.best_estimator_.coef_, other.best_estimator_.coef_)
    assert one.privacy_["secure_rng"] is False
    assert search().fit(*data).privacy_["secure_rng"] is True


def test_it_is_a_scikit_learn_estimator(data):
    found = search()
    assert is_classifier(found) and clone(found).get_params()["estimator__radius"] == "auto"
    found.set_params(estimator__radius=2.0, trials=3.0)
    assert clone(found).estimator.radius == 2.0
    fitted = clone(found).fit(*data)
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict(data[0]), fitted.predict(data[0]))
    assert fitted.n_features_in_ == 8 and fitted.classes_.tolist() == [0, 1]
    with pytest.raises(NotFittedError):
        clone(found).predict(data[0])


CHECKED = {
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
    "check_dict_unchanged",
    "check_dont_overwrite_attributes",
    "check_fit_check_is_fitted",
    "check_estimators_unfitted",
    "check_estimators_nan_inf",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    "check_n_features_in",
    "check_n_features_in_after_fitting",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_readonly_memmap_input",
    "check_requires_y_none",
    "check_classifiers_classes",
    "check_supervised_y_2d",
}


ESTIMATORS = [
    PrivateSearch(inner, {"radius": [1.0, 3.0]}, epsilon=9.0, trials=2.0)
    for inner in (PrivateLassoClassifier(), PrivateLassoRegressor())
]


@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pytest.param(
            estimator, check, id=f"{check.func.__name__}-{type(estimator.estimator).__name__}"
        )
        for search_of in ESTIMATORS
        for estimator, check in estimator_checks_generator(search_of, mark=None)
        if check.func.__name__ in CHECKED
    ],
)
@pytest.mark.filterwarnings("ignore::dplasso.PrivacyLeakWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_scikit_learn_agrees(estimator, check):
    """All but what no search with a random split can keep, and what is slow."""
    check(estimator)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"estimator": make_pipeline(classifier())}, "make the search the last step"),
        ({"estimator": classifier(accountant=Budget.__new__(Budget))}, "pass it to the search"),
        ({"estimator": classifier(epsilon=0.1)}, "epsilon of the estimator is 0.1, .* search 3"),
        ({"estimator": classifier(delta=1e-9)}, "delta of the estimator is 1e-09"),
        ({"grid": {"epsilon": [1.0]}}, "grid has epsilon, which all trials share; .* the search$"),
        ({"grid": {"n_rows": [5]}}, "grid has n_rows, .* on its estimator$"),
        ({"grid": {"radius": [-1.0, 2.0]}}, "radius must be"),
        ({"grid": {"x_bound": [[1.0, 2.0]]}}, "one bound per column"),
        ({"grid": {"wrong": [1]}}, "Invalid parameter"),
        ({"epsilon": math.inf}, "epsilon must be a finite number"),
        ({"epsilon": 1e-9}, "epsilon leaves nothing for a trial|too small"),
        ({"trials": 1.0}, "trials must lie"),
        ({"validation": 1.0}, "validation must be"),
        ({"scoring": "r2"}, "scoring must be one of auto, accuracy, got"),
        ({"accountant": object()}, "accountant must have a charge method"),
    ],
)
def test_what_is_wrong_is_told_before_it_is_charged(data, tmp_path, options, told):
    budget = Budget(5.0, 1e-6, tmp_path / "budget.sqlite")
    with pytest.raises(ValueError, match=told):
        search(**{"accountant": budget, **options}).fit(*data)
    assert not budget.entries()


def test_rows_that_are_wrong_are_told_before_it_is_charged(data, tmp_path):
    X, y = data
    budget = Budget(5.0, 1e-6, tmp_path / "budget.sqlite")
    gap = X.copy()
    gap[5, 3] = math.nan
    wrong = [(gap, y), (X, y[:-1]), (X, y + 1), (X, None), (ColumnMatrix.of(X), y)]
    for rows, labels in wrong:
        with pytest.raises(ValueError):
            search(accountant=budget).fit(rows, labels)
    assert not budget.entries()


def test_described_rows_are_refused_with_a_remedy_that_works():
    schema = Schema({"age": Number(0, 120), "sick": Target(["no", "yes"])})
    frame = {"age": [30, 80] * 500, "sick": ["no", "yes"] * 500}
    known = {"classes": ["no", "yes"], "n_rows": 1000}
    rows = read_rows(frame, schema=schema)
    asked = {"epsilon": 5.0, "trials": 3}
    with pytest.raises(ValueError, match="TableEncoder"):
        PrivateSearch(PrivateLassoClassifier(**known), {"n_nonzero": [1]}, **asked).fit(
            rows.described(), rows.y
        )
    encoder = TableEncoder(schema)
    model = PrivateLassoClassifier(**known, x_bound=encoder.bounds_)
    X, y, _ = schema.split(frame)
    found = make_pipeline(encoder, PrivateSearch(model, {"solver": ["table"]}, **asked)).fit(X, y)
    assert found.score(X, y) > 0.9


@pytest.fixture
def strict():
    dplasso.set_strict(True)
    yield
    dplasso.set_strict(None)


def test_strict_mode(data, strict):
    search().fit(*data)
    for undeclared in ({"classes": None}, {"n_rows": None}, {"x_bound": None}):
        with pytest.raises(dplasso.PrivacyLeakError):
            search(classifier().set_params(**undeclared)).fit(*data)
    with pytest.raises(dplasso.PrivacyLeakError):
        search(random_state=0).fit(*data)


def test_replace_one_needs_no_number_of_rows(data, strict):
    model = PrivateLassoClassifier(classes=[0, 1], x_bound=1.0, neighboring="replace_one")
    found = search(model).fit(*data)
    assert found.privacy_["neighboring"] == "replace_one"
