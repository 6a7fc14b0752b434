"""Fits that select a few columns first: when, what they give, state, cost and keep."""

import json
import math

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import dplasso
from dplasso import Budget, PrivateLassoClassifier, PrivateLassoRegressor
from dplasso.fitting.registry import auto_solver
from dplasso.privacy import zcdp
from dplasso.report import write_report
from dplasso.storage import ModelFileError, read, write

ROWS, COLUMNS = 3000, 1200
seeds = pytest.mark.filterwarnings("ignore:random_state:dplasso.PrivacyLeakWarning")


@pytest.fixture(scope="module")
def words():
    """Wide sparse rows; columns 7 and 11 tell of the label."""
    rng = np.random.default_rng(0)
    X = sp.random_array((ROWS, COLUMNS), density=0.01, rng=rng, format="lil")
    for column in (7, 11):
        X[:, [column]] = np.where(rng.random((ROWS, 1)) < 0.4, rng.uniform(0.2, 1, (ROWS, 1)), 0.0)
    X = X.tocsr()
    told = (X[:, [7]] != 0).toarray().ravel() * 1.0 - (X[:, [11]] != 0).toarray().ravel()
    return X, told + 0.3 * rng.normal(size=ROWS)


def classifier(epsilon=2.0, **options):
    given = {"classes": [0, 1], "n_rows": ROWS, "x_bound": 1.0, "solver": "auto", "n_nonzero": 2}
    return PrivateLassoClassifier(epsilon, **{**given, **options})


WAYS = [
    {},
    {"row_map": "as_is"},
    {"row_map": "sqrt"},
    {"neighboring": "replace_one"},
    {"x_bound": "private"},
    {"x_bound": np.linspace(1.0, 3.0, COLUMNS), "row_map": "as_is"},
]


@pytest.mark.parametrize("options", WAYS)
def test_it_finds_the_columns_and_learns(words, options):
    X, y = words[0], (words[1] > 0).astype(int)
    model = classifier(**options).fit(X, y)
    assert model.solver_ == "select"
    assert sorted(map(tuple, model.vertices_)) == [(7, 1), (11, -1)]
    assert model.fitted_.weights.indices.tolist() == [7, 11] and np.count_nonzero(model.coef_) <= 2
    assert model.coef_[0, 7] > 0 > model.coef_[0, 11]
    assert model.score(X, y) > 0.7  # of 0.74: a row with neither, or both, says nothing


def test_regression(words):
    X, y = words
    model = PrivateLassoRegressor(
        2.0, y_bound=2.0, x_bound=1.0, n_rows=ROWS, solver="auto", n_nonzero=2
    ).fit(X, y)
    assert model.solver_ == "select" and sorted(model.vertices_[:, 0]) == [7, 11]
    assert model.score(X, y) > 0.6


def test_rows_are_scaled_by_the_chosen_columns_alone(words):
    X, y = words[0], (words[1] > 0).astype(int)
    model = classifier(row_map="as_is").fit(X, y)
    other = X.tolil()
    other[:, 20:] = 1.0
    assert np.array_equal(model.decision_function(other.tocsr()), model.decision_function(X))
    few = X[:, [7, 11]].toarray()
    lengths = np.linalg.norm(few, axis=1, keepdims=True)
    units = np.divide(few, lengths, out=np.zeros_like(few), where=lengths > 0)
    margins = units @ model.coef_[0, [7, 11]] + model.intercept_
    assert np.allclose(model.decision_function(X), margins)
    assert np.allclose(model.decision_function(X.toarray()), margins)


def test_the_statement_prices_what_is_released_and_says_why(words):
    X, y = words[0], (words[1] > 0).astype(int)
    statement = classifier(epsilon=1.0).fit(X, y).privacy_
    again = json.loads(json.dumps(statement, allow_nan=False))
    counts = (1, 2, 1, again["public"]["steps"]["value"], 1, 2)
    rho = sum(
        count
        * (
            part["bounded_range"] ** 2 / 8
            if "bounded_range" in part
            else 0.5 / part["noise_multiplier"] ** 2
        )
        for part, count in zip(again["releases"], counts, strict=True)
    )
    assert rho == pytest.approx(again["rho"], rel=1e-9)
    assert 0.999 < zcdp.epsilon_of(rho, 1e-6) <= 1.0 + 1e-9
    told = str(statement)
    assert "2 columns with their signs" in told and "mean of the labels" in told
    assert "solver = select (public rule: so few of so many columns" in told


@pytest.mark.parametrize("options", [{}, {"x_bound": "private", "row_map": "as_is"}])
def test_a_ledger_takes_a_fit_of_the_whole_budget(words, tmp_path, options):
    X, y = words[0], (words[1] > 0).astype(int)
    budget = Budget(1.0, 1e-6, tmp_path / "budget.sqlite")
    model = classifier(epsilon=1.0, accountant=budget, **options).fit(X, y)
    (entry,) = [entry for entry in budget.entries() if entry.label]
    assert zcdp.rho(entry.event) == pytest.approx(model.privacy_["rho"], rel=1e-9)
    assert 0.99 < budget.spent_epsilon <= 1.0
    with pytest.raises(dplasso.BudgetError):
        clone(model).fit(X, y)


def test_a_refused_charge_draws_nothing(words, monkeypatch):
    class Refusing:
        def charge(self, event, *, delta, neighboring, label):
            raise RuntimeError("no")

    monkeypatch.setattr("dplasso.fitting.select_then_fit.choose", lambda *_: pytest.fail("drawn"))
    with pytest.raises(RuntimeError, match="no"):
        classifier(accountant=Refusing()).fit(words[0], words[1] > 0)


@seeds
def test_the_number_of_threads_changes_nothing(words):
    X, y = words[0], (words[1] > 0).astype(int)
    one, two = (classifier(random_state=1, n_jobs=n).fit(X, y) for n in (1, 2))
    assert np.array_equal(one.coef_, two.coef_) and np.array_equal(one.vertices_, two.vertices_)


def test_saved_models_predict_the_same_and_have_a_page(words, tmp_path):
    X, y = words[0], (words[1] > 0).astype(int)
    path = tmp_path / "model.dpl"
    for options in WAYS[:3]:
        model = classifier(**options).fit(X, y)
        model.save(path)
        again = dplasso.load(path)
        assert again.solver_ == "select"
        assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
        plain = model.to_sklearn()
        np.testing.assert_allclose(plain.predict_proba(X), model.predict_proba(X))
        assert plain.columns_.tolist() == sorted(model.vertices_[:, 0].tolist())
    write_report(tmp_path / "page.html", again)
    assert "chosen first" in (tmp_path / "page.html").read_text()
    header, arrays = read(path)
    write(path, header, arrays | {"vertices": np.array([[COLUMNS, 1], [7, 1]])})
    with pytest.raises(ModelFileError, match="intercept"):
        dplasso.load(path)


def test_auto_goes_by_public_facts_alone():
    facts = (1.0, 1e-6, 15_000, 42_000)
    assert auto_solver(*facts, n_nonzero=4)[0] == "select"
    assert auto_solver(*facts, n_nonzero=5)[0] == "gradient"
    assert auto_solver(*facts)[0] == "gradient"
    assert auto_solver(*facts, outputs=3, n_nonzero=2)[0] == "gradient"
    assert auto_solver(1.0, 1e-6, 15_000, 1000, n_nonzero=2)[0] == "gradient"
    assert auto_solver(math.inf, 1e-6, 15_000, 42_000, n_nonzero=2)[0] == "frank_wolfe"
    solver, why = auto_solver(1e-3, 1e-6, 15_000, 42_000, n_nonzero=2)
    assert solver == "gradient" and "noise" in why


def test_named_solvers_stay_what_they_are(words):
    X, y = words[0], (words[1] > 0).astype(int)
    model = classifier(solver="gradient").fit(X, y)
    assert model.solver_ == "gradient" and len(model.vertices_) == 0
    with pytest.raises(ValueError, match="solver must be one of"):
        classifier(solver="select").fit(X, y)


def test_undeclared_rows_are_refused_in_strict_mode(words):
    dplasso.set_strict(True)
    try:
        with pytest.raises(dplasso.PrivacyLeakError, match="n_rows"):
            classifier(n_rows=None).fit(words[0], words[1] > 0)
    finally:
        dplasso.set_strict(None)
