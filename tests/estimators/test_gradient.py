"""Fits by gradient descent: what they give, state, cost and refuse."""

import json
import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

import dplasso
from dplasso import Budget, PrivateLassoClassifier, PrivateLassoRegressor, Sparsifier, load
from dplasso.fitting.auto_rules import (
    KEPT_PER_ROOT,
    KEPT_PER_SIGNAL,
    KEPT_SHARE,
    UNSEEN,
    auto_nonzeros,
)
from dplasso.privacy import gaussian, zcdp
from dplasso.privacy.gaussian import mu_of
from dplasso.report import write_report

ROWS = 3000


def words(classes=2, rows=ROWS, columns=60, seed=0):
    """Sparse rows whose first columns tell of the label."""
    rng = np.random.default_rng(seed)
    X = sp.random_array((rows, columns), density=0.2, rng=rng, format="csr")
    X.data = rng.uniform(0.1, 1.0, X.nnz)
    told = (X[:, :classes] != 0).toarray() * 3.0 + rng.gumbel(size=(rows, classes))
    return X, told.argmax(axis=1)


def classifier(classes=2, epsilon=10.0, **options):
    given = {"classes": range(classes), "n_rows": ROWS, "x_bound": 1.0, "solver": "gradient"}
    return PrivateLassoClassifier(epsilon, **{**given, **options})


@pytest.mark.parametrize("classes", [2, 4])
def test_it_learns_and_is_better_than_selection_where_all_count(classes):
    X, y = words(classes)
    model = classifier(classes).fit(X, y)
    assert model.coef_.shape == (1 if classes == 2 else classes, 60)
    assert model.score(X, y) > 1.2 * np.bincount(y).max() / ROWS
    assert model.solver_ == "gradient" and model.row_map_ == "as_is"
    assert len(model.vertices_) == 0 and np.allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_regression():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (ROWS, 5))
    y = X[:, 0] / np.linalg.norm(X, axis=1)
    model = PrivateLassoRegressor(
        10.0, y_bound=1.0, x_bound=1.0, n_rows=ROWS, solver="gradient"
    ).fit(X, y)
    assert model.row_map_ == "as_is" and model.score(X, y) > 0.8


def test_the_statement_prices_what_is_released():
    X, y = words()
    statement = classifier(epsilon=1.0).fit(X, y).privacy_
    again = json.loads(json.dumps(statement, allow_nan=False))
    multipliers = [part["noise_multiplier"] for part in again["releases"]]
    counts = (1, again["public"]["steps"]["value"], 1, 2)
    mu = math.hypot(*(n**0.5 / s for n, s in zip(counts, multipliers, strict=True)))
    assert mu == pytest.approx(again["mu"], rel=1e-9)
    assert gaussian.epsilon_of(mu, 1e-6) <= 1.0 + 1e-9
    assert gaussian.epsilon_of(mu * 1.01, 1e-6) > 1.0
    told = str(statement)
    assert "GDP" in told and "sums of row gradients" in told and "row_map = as_is" in told


def test_a_ledger_takes_a_fit_of_the_whole_budget(tmp_path):
    X, y = words()
    budget = Budget(1.0, 1e-6, tmp_path / "budget.sqlite")
    model = classifier(epsilon=1.0, accountant=budget).fit(X, y)
    (entry,) = [entry for entry in budget.entries() if entry.label]
    assert zcdp.rho(entry.event) == pytest.approx(model.privacy_["rho"], rel=1e-9)
    assert 0.99 < budget.spent_epsilon <= 1.0
    with pytest.raises(dplasso.BudgetError):
        clone(model).fit(X, y)


def test_a_refused_charge_draws_nothing(monkeypatch):
    class Refusing:
        def charge(self, event, *, delta, neighboring, label):
            raise RuntimeError("no")

    X, y = words()
    monkeypatch.setattr(
        "dplasso.fitting.gradient.gradient_descent", lambda *_, **__: pytest.fail("drawn")
    )
    with pytest.raises(RuntimeError, match="no"):
        classifier(accountant=Refusing()).fit(X, y)


@pytest.mark.filterwarnings("ignore:random_state:dplasso.PrivacyLeakWarning")
@pytest.mark.parametrize("row_map", ["presence", "sqrt", "as_is"])
@pytest.mark.parametrize("solver", ["gradient", "frank_wolfe"])
def test_rows_are_mapped_alike_at_fitting_and_at_predicting(row_map, solver):
    X, y = words()
    maps = {
        "presence": lambda X: (X != 0).astype(float),
        "sqrt": lambda X: X.sqrt(),
        "as_is": lambda X: X,
    }
    given = {"solver": solver, "random_state": 1}
    ours = classifier(row_map=row_map, **given).fit(X, y)
    theirs = classifier(row_map="as_is", **given).fit(maps[row_map](X), y)
    assert np.allclose(ours.coef_, theirs.coef_, rtol=1e-3, atol=1e-4)
    found, wanted = ours.predict_proba(X), theirs.predict_proba(maps[row_map](X))
    assert np.allclose(found, wanted, atol=1e-3)


def test_bounds_per_column_are_a_public_scaling():
    X, y = words()
    bounds = np.linspace(1.0, 50.0, X.shape[1])
    stretched = sp.csr_array(X @ sp.diags_array(bounds))
    model = classifier(row_map="as_is", x_bound=bounds, epsilon=1e4).fit(stretched, y)
    plain = classifier(row_map="as_is", epsilon=1e4).fit(X, y)
    assert np.allclose(model.predict_proba(stretched), plain.predict_proba(X), atol=0.05)


@pytest.mark.parametrize("classes", [2, 4])
def test_a_public_number_of_nonzeros(classes):
    X, y = words(classes)
    few = classifier(classes, n_nonzero=7, solver="auto", epsilon=0.5).fit(X, y)
    # A table drops the weights of columns that hardly vary, if they are noise.
    assert 0 < few.fitted_.weights.nnz == np.count_nonzero(few.coef_) <= 7
    assert few.privacy_["public"]["n_nonzero"] == {"value": 7, "source": "given"}
    assert "n_nonzero = 7" in str(few.privacy_)
    assert classifier(classes, n_nonzero=7).fit(X, y).fitted_.weights.nnz == 7


def test_wide_models_are_sparse_as_they_come(tmp_path):
    """The number is a public one: planned, stated with its reason, saved, and free of charge."""
    X, y = words(rows=300, columns=3000)
    model = classifier().fit(X, y)
    stated = model.privacy_["public"]["n_nonzero"]
    assert stated["value"] == auto_nonzeros(10.0, 1e-6, ROWS, 3000) < 3000
    assert model.fitted_.weights.nnz == stated["value"] == model.plan(*X.shape).n_nonzero.value
    assert stated["source"].startswith("public rule: ")
    assert f"n_nonzero = {stated['value']}" in str(model.privacy_)
    whole = classifier(n_nonzero=None).fit(X, y)
    assert whole.fitted_.weights.nnz == 3000
    assert whole.privacy_["public"]["n_nonzero"] == {"value": "all", "source": "given"}
    assert whole.privacy_["rho"] == pytest.approx(model.privacy_["rho"])
    model.save(tmp_path / "model.dpl")
    assert load(tmp_path / "model.dpl").n_nonzero == clone(model).n_nonzero == "auto"


NOT_CUT = "a table cuts none of its columns; some may still be 0"


@pytest.mark.parametrize(
    ("options", "columns", "reason"),
    [
        ({"solver": "table"}, 3000, NOT_CUT),
        ({"solver": "auto"}, 50, NOT_CUT),
        ({}, 1000, "few columns are all kept"),
        ({"classes": 3}, 3000, "several classes need all columns"),
        ({"epsilon": 0.005}, 3000, "so few rows cannot tell which columns to drop"),
        ({"solver": "frank_wolfe"}, 3000, "a round adds one at most"),
    ],
)
def test_other_models_keep_all_coefficients_and_say_why(options, columns, reason):
    plan = classifier(**options).plan(800, columns)
    assert plan.n_nonzero.value == "all" and plan.n_nonzero.source == f"public rule: {reason}"
    assert plan.request.n_nonzero is None and f"n_nonzero = all (public rule: {reason})" in str(
        plan
    )


@given(st.floats(0.01, 50.0), st.integers(1, 10**7), st.integers(1001, 10**8))
def test_what_is_kept_follows_the_columns_and_what_rows_can_show_of_them(epsilon, rows, columns):
    """At least a multiple of the root, and more only if there is much signal, or none."""
    kept = auto_nonzeros(epsilon, 1e-6, rows, columns)
    signal = rows * mu_of(epsilon, 1e-6)
    root = math.ceil(KEPT_PER_ROOT * math.sqrt(columns))
    assert min(root, columns) <= kept <= columns
    assert auto_nonzeros(epsilon, 1e-6, rows, columns + 1) >= kept
    if signal <= UNSEEN:
        assert kept == columns  # nobody can tell which ones to drop
    elif kept > root and columns * (UNSEEN / signal) ** 2 <= root:
        assert kept <= math.ceil(min(KEPT_PER_SIGNAL * signal, KEPT_SHARE * columns))
        assert auto_nonzeros(2 * epsilon, 1e-6, rows, columns) >= kept


def test_of_a_million_columns_few_percent_are_kept_at_usual_budgets():
    kept = [auto_nonzeros(epsilon, 1e-8, 15_000, 1_000_000) for epsilon in (0.1, 1.0)]
    assert max(kept) <= 25_000


def test_rows_are_mapped_by_public_facts_however_they_are_stored():
    X, y = words(columns=1001, rows=200)
    for form in (X, X.toarray()):
        for expected, options in (
            ("presence", {"epsilon": 1.0, "n_rows": 200}),
            ("sqrt", {"epsilon": 1.0, "n_rows": 10_000}),
            ("sqrt", {"epsilon": 1.0, "n_rows": 200, "x_bound": 2.0}),
        ):
            model = classifier(**options).fit(form, y)
            assert model.row_map_ == expected
            assert model.privacy_["public"]["row_map"]["source"] == "public rule"
            assert classifier(**options).fit(form[:, :1000], y).row_map_ == "as_is"


def test_words_that_are_0_or_1_are_fitted_alike_by_root_presence_and_as_they_are():
    X, y = words(columns=1500, rows=200)
    X.data[:] = 1.0
    maps = ("sqrt", "presence", "as_is")
    root, *others = (classifier(row_map=each, random_state=1).fit(X, y) for each in maps)
    for model in others:
        assert np.array_equal(model.fitted_.weights.toarray(), root.fitted_.weights.toarray())
        assert np.array_equal(model.intercept_, root.intercept_)
        assert np.array_equal(model.predict_proba(X), root.predict_proba(X))


def test_auto_goes_by_public_facts():
    X, y = words()
    model = classifier(solver="auto").fit(X, y)
    assert model.solver_ == "table"
    X = sp.hstack([X, sp.csr_array((X.shape[0], 1001))])
    model = classifier(solver="auto").fit(X, y)
    assert model.solver_ == "gradient"
    assert model.privacy_["public"]["solver"]["source"].startswith("public rule")
    few = classifier(epsilon=0.1, solver="auto", n_nonzero=5).fit(X, y)
    assert few.solver_ == "gradient" and few.fitted_.weights.nnz == 5
    assert classifier(epsilon=math.inf, solver="auto").fit(X, y).solver_ == "frank_wolfe"


def test_saved_models_predict_the_same_and_have_a_page(tmp_path):
    X, y = words()
    for options in ({}, {"row_map": "sqrt"}, {"solver": "frank_wolfe", "row_map": "presence"}):
        model = classifier(**options).fit(X, y)
        model.save(tmp_path / "model.dpl")
        again = dplasso.load(tmp_path / "model.dpl")
        assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
        write_report(tmp_path / "page.html", again)
        assert "length 1" in (tmp_path / "page.html").read_text() or options.get("solver")
        np.testing.assert_allclose(model.to_sklearn().predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"solver": "best"}, "solver must be one of"),
        ({"row_map": "log"}, "row_map must be one of"),
        ({"radius": 3.0}, "are for solver='frank_wolfe'"),
        ({"max_iter": 3}, "are for solver='frank_wolfe'"),
        ({"fit_intercept": False}, "are for solver='frank_wolfe'"),
        ({"n_nonzero": Sparsifier()}, "Sparsifier is for"),
        ({"n_nonzero": 0}, "n_nonzero"),
    ],
)
def test_what_is_refused(options, said):
    with pytest.raises(ValueError, match=said):
        classifier(**options).fit(*words())


def test_undeclared_rows_are_refused_in_strict_mode():
    dplasso.set_strict(True)
    try:
        with pytest.raises(dplasso.PrivacyLeakError, match="n_rows"):
            classifier(n_rows=None).fit(*words())
        classifier().fit(*words())
    finally:
        dplasso.set_strict(None)


@pytest.mark.filterwarnings("ignore:random_state makes the fit repeatable")
def test_labels_at_random_give_the_shares_of_the_classes():
    """A descent fits its own rows to any labels; probabilities must not take that for a signal."""
    rng = np.random.default_rng(0)
    X = sp.random_array((6000, 4000), density=0.01, rng=rng, format="csr")
    y = (rng.random(6000) < 0.4).astype(int)
    model = classifier(epsilon=4.0, n_rows=3000, random_state=0).fit(X[:3000], y[:3000])
    odds = model.predict_proba(X[3000:])[:, 1]
    assert odds.mean() == pytest.approx(0.4, abs=0.05) and odds.std() < 0.05
