"""x_bound="private": released, charged with the fit, used as any bound, and kept with the model."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

import dplasso
from dplasso import Budget, BudgetError, ColumnMatrix, PrivateLassoClassifier, load
from dplasso import PrivateLassoRegressor as Regressor
from dplasso.data.row_medians import entries_of, row_medians
from dplasso.estimators import Sparsifier
from dplasso.fitting import private_bound
from dplasso.privacy import zcdp
from dplasso.privacy.events import BoundedRange
from dplasso.privacy.plan import plan_selections
from dplasso.storage import ModelFileError, open_store, read, write
from stores import build

ROWS = 1500
seeds = pytest.mark.filterwarnings("ignore:random_state:dplasso.PrivacyLeakWarning")
WAYS = [
    {"solver": "frank_wolfe"},
    {"solver": "frank_wolfe", "row_map": "sqrt"},
    {"solver": "gradient", "row_map": "as_is"},
    {"solver": "gradient", "row_map": "sqrt"},
]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = sp.random_array((ROWS, 30), density=0.4, rng=rng, format="csr")
    X.data = 0.05 * (0.5 + X.data)
    return X, (np.asarray(X[:, [3]].todense()).ravel() > 0).astype(int)


def classifier(**options):
    declared = {"classes": [0, 1], "n_rows": ROWS, "x_bound": "private"}
    return PrivateLassoClassifier(**{"epsilon": 5.0, **declared, **options})


def bound_of(model):
    return model.privacy_["bounds"]["x_bound"]


@pytest.mark.parametrize("options", WAYS)
def test_the_bound_is_a_candidate_near_the_quantile_and_is_stated(data, options):
    model = classifier(**options).fit(*data)
    stated = bound_of(model)
    assert stated["source"] == "private quantile" and stated["value"] in private_bound.CANDIDATES
    numbers = row_medians(entries_of(data[0]))
    near = np.searchsorted(private_bound.CANDIDATES, np.quantile(numbers, [0.01, 0.4]))
    assert near[0] - 1 <= private_bound.CANDIDATES.index(stated["value"]) <= near[1]
    release = model.privacy_["releases"][0]
    assert release["what"] == "a bound on entries"
    text = str(model.privacy_)
    assert "(private quantile)" in text and "a bound on entries (exponential mechanism" in text
    assert "GDP" not in text


@pytest.mark.parametrize("options", WAYS)
@pytest.mark.parametrize("share", [0.05, 0.5])
def test_bound_and_fit_cost_what_was_asked_together(data, tmp_path, options, share):
    budget = Budget(1.0, 1e-6, tmp_path / "budget.sqlite")
    model = classifier(epsilon=1.0, bound_share=share, accountant=budget, **options).fit(*data)
    (entry,) = budget.entries()
    assert entry.rho == pytest.approx(zcdp.rho_of(1.0, 1e-6), rel=1e-9)
    assert entry.rho == pytest.approx(model.privacy_["rho"], rel=1e-9)
    bound = entry.event.events[0]
    assert isinstance(bound, BoundedRange)
    assert bound.epsilon == model.privacy_["releases"][0]["bounded_range"]
    assert bound.epsilon**2 / 8 == pytest.approx(share * entry.rho, rel=1e-9)


@seeds
def test_a_fit_that_is_refused_draws_no_bound(data, tmp_path):
    budget = Budget(0.5, 1e-6, tmp_path / "budget.sqlite")
    generator = np.random.default_rng(0)
    before = generator.bit_generator.state
    with pytest.raises(BudgetError):
        classifier(epsilon=1.0, accountant=budget, random_state=generator).fit(*data)
    assert generator.bit_generator.state == before and not budget.entries()


@seeds
@pytest.mark.parametrize("options", WAYS)
def test_a_fit_is_that_of_the_bound_as_it_was_released(data, options, monkeypatch):
    """But for the share of the budget that the bound took, and for where draws begin."""
    used = {}

    def noted(*arguments, generator, **options):
        used["bits"] = generator
        return private_bound.CANDIDATES.index(1 / 32)

    monkeypatch.setattr(private_bound, "private_quantile", noted)
    model = classifier(random_state=0, bound_share=1e-14, **options).fit(*data)
    fixed = classifier(x_bound=1 / 32, random_state=0, **options)
    fixed.set_params(accountant=Free()).fit(*data)
    assert bound_of(model)["value"] == 1 / 32 and used["bits"] is not None
    np.testing.assert_array_equal(model.vertices_, fixed.vertices_)
    np.testing.assert_allclose(model.coef_, fixed.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(
        model.decision_function(data[0]), fixed.decision_function(data[0]), rtol=1e-6, atol=1e-9
    )


class Free:
    """An accountant that minds nothing: descents are planned in rho for any."""

    def charge(self, event, **facts):
        return None


@pytest.mark.parametrize("options", WAYS)
def test_new_rows_are_treated_as_the_fitted_ones(data, options, tmp_path):
    model = classifier(**options).fit(*data)
    model.save(tmp_path / "model.dpl")
    again = load(tmp_path / "model.dpl")
    assert again.x_bound == "private" and bound_of(again) == bound_of(model)
    margins = model.decision_function(data[0])
    assert np.array_equal(again.decision_function(data[0]), margins)
    declared = clone(model).set_params(x_bound=bound_of(model)["value"])
    declared.__dict__.update(
        {name: value for name, value in vars(model).items() if name != "x_bound"}
    )
    assert np.array_equal(declared.decision_function(data[0]), margins)


@pytest.mark.parametrize("value", ["wide", -1.0, None])
def test_a_file_without_the_bound_is_no_model(data, tmp_path, value):
    path = tmp_path / "model.dpl"
    classifier().fit(*data).save(path)
    header, arrays = read(path)
    header["privacy"]["bounds"]["x_bound"]["value"] = value
    write(path, header, arrays)
    with pytest.raises(ModelFileError, match="holds no model to load"):
        load(path)


@seeds
def test_all_kinds_of_rows_have_the_same_bound(data, tmp_path):
    X, y = data
    store = open_store(build(tmp_path / "x.dpc", X, y.astype(float)))
    kinds = [X, X.tocsc(), X.tocoo(), X.toarray(), ColumnMatrix.of(X, 1.0), store.matrix(3.0)]
    found = [classifier(random_state=1).fit(kind, y) for kind in kinds]
    for model in found[1:]:
        assert bound_of(model) == bound_of(found[0])
        assert np.array_equal(model.vertices_, found[0].vertices_)
        assert np.array_equal(model.intercept_, found[0].intercept_)


def test_columns_with_bounds_of_their_own_keep_them(data, tmp_path):
    X, y = data
    bounds = np.linspace(1.0, 2.0, 30)
    store = open_store(build(tmp_path / "x.dpc", X, y.astype(float), bounds=bounds))
    for x_bound in ("private", None):
        model = classifier(solver="frank_wolfe", x_bound=x_bound)
        with pytest.raises(ValueError, match="X has one for each; pass these as x_bound"):
            model.fit(store.matrix(), y)
    assert model.set_params(x_bound=store.bounds).fit(store.matrix(), y).n_iter_


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"x_bound": "privat"}, "x_bound must be a positive number.* or 'private', got 'privat'"),
        ({"bound_share": 0.0}, "bound_share must be"),
        ({"bound_share": 1.0}, "bound_share must be"),
        ({"row_map": "presence"}, "has no use where row_map='presence'"),
        ({"solver": "gradient", "row_map": "presence"}, "has no use where row_map='presence'"),
        ({"bound_share": 0.96, "n_nonzero": Sparsifier(low=1, high=9)}, "must leave something"),
    ],
)
def test_what_is_wrong_is_told_before_it_is_charged(data, tmp_path, options, told):
    budget = Budget(9.0, 1e-6, tmp_path / "budget.sqlite")
    with pytest.raises(ValueError, match=told):
        classifier(accountant=budget, **options).fit(*data)
    assert not budget.entries()


def test_a_bound_share_is_read_only_for_a_private_bound(data):
    classifier(x_bound=0.1, bound_share=None).fit(*data)


def test_with_a_count_and_a_bound(data):
    model = classifier(n_nonzero=Sparsifier(low=1, high=9)).fit(*data)
    whats = [release["what"] for release in model.privacy_["releases"]]
    assert whats[:2] == ["a bound on entries", "a count of nonzero coefficients"]
    assert model.privacy_["rho"] == pytest.approx(zcdp.rho_of(5.0, 1e-6), rel=1e-9)


def test_a_private_bound_is_declared_enough_for_strict_mode(data):
    dplasso.set_strict(True)
    try:
        classifier().fit(*data)
        Regressor(n_rows=ROWS, x_bound="private", y_bound=1.0).fit(*data)
    finally:
        dplasso.set_strict(None)


LEFT_OUT = [
    {"solver": "frank_wolfe"},
    {"max_iter": 20},
    {"solver": "frank_wolfe", "row_map": "sqrt"},
    {"n_nonzero": Sparsifier(low=1, high=9)},
]


@seeds
@pytest.mark.parametrize("options", LEFT_OUT)
def test_frank_wolfe_releases_a_bound_that_is_left_out(data, tmp_path, options):
    """It is planned, charged, stated and saved as if it had been asked for."""
    asked, left_out = (
        classifier(x_bound=bound, random_state=1, accountant=budget, **options)
        for bound, budget in (
            ("private", Budget(9.0, 1e-6, tmp_path / "asked.sqlite")),
            (None, Budget(9.0, 1e-6, tmp_path / "left_out.sqlite")),
        )
    )
    assert str(left_out.plan(ROWS, 30)) == str(asked.plan(ROWS, 30))
    asked.fit(*data)
    left_out.fit(*data)
    without_ledger = [dict(m.privacy_, ledger=None) for m in (asked, left_out)]
    assert without_ledger[0] == without_ledger[1]
    charges = [m.accountant.entries()[0].event for m in (asked, left_out)]
    assert charges[0] == charges[1]
    left_out.save(tmp_path / "model.dpl")
    again = load(tmp_path / "model.dpl")
    assert again.x_bound is None and again.releases_bound and clone(again).x_bound is None
    assert np.array_equal(again.decision_function(data[0]), asked.decision_function(data[0]))


@pytest.mark.parametrize(
    "options",
    [
        {"solver": "frank_wolfe", "radius": 2.0},
        {"solver": "frank_wolfe", "epsilon": math.inf},
        {"solver": "frank_wolfe", "row_map": "presence"},
        {"solver": "gradient"},
        {},
    ],
)
def test_elsewhere_a_bound_that_is_left_out_is_one(options):
    model = classifier(**{"x_bound": None, **options})
    assert not model.releases_bound
    assert model.plan(ROWS, 30).to_dict()["bounds"]["x_bound"]["value"] == 1.0


@seeds
def test_frank_wolfe_as_it_comes_learns_from_rows_of_length_one():
    """Entries of such rows are far below 1, and with a bound of 1 all would be noise."""
    rng = np.random.default_rng(0)
    X = (rng.random((3000, 1500)) < 0.2).astype(float)
    y = (X[:, 0] > 0).astype(int)
    X /= np.linalg.norm(X, axis=1)[:, None]
    public = {"classes": [0, 1], "n_rows": 3000, "solver": "frank_wolfe", "random_state": 0}
    blind = PrivateLassoClassifier(2.0, x_bound=1.0, **public).fit(X, y)
    model = PrivateLassoClassifier(2.0, **public).fit(X, y)
    assert blind.score(X, y) < 0.82 and model.score(X, y) > 0.95


def test_without_privacy_it_is_the_quantile(data):
    model = classifier(epsilon=math.inf).fit(*data)
    numbers = row_medians(entries_of(data[0]))
    assert bound_of(model)["value"] == pytest.approx(np.quantile(numbers, 0.1), rel=0.5)


def test_rows_of_nothing_count_for_nothing():
    X = np.zeros((400, 3))
    X[:100, 1] = 0.25
    model = classifier(epsilon=50.0, n_rows=400).fit(X, np.arange(400) % 2)
    assert bound_of(model)["value"] == 0.25


def test_a_search_may_choose_it(data):
    grid = {"x_bound": ["private", 1.0]}
    found = dplasso.PrivateSearch(classifier(), grid, epsilon=5.0, trials=4.0).fit(*data)
    assert found.best_params_["x_bound"] in grid["x_bound"]


def test_entries_that_are_to_be_bounded_are_not_made_presence():
    X = sp.random_array((300, 2000), density=0.01, rng=np.random.default_rng(0), format="csr")
    model = classifier(solver="gradient").fit(X, np.arange(300) % 2)
    assert model.row_map_ == "as_is"


@pytest.mark.parametrize(
    "options", [{}, {"x_bound": None, "solver": "frank_wolfe", "epsilon": 2.0}]
)
def test_an_audit_takes_a_bound_that_is_released(options):
    found = dplasso.audit.run(classifier(**options), checks=["accounting", "bound"], seed=0)
    assert found.passed and "x_bound is released" in str(found.facts)


@given(st.lists(st.lists(st.floats(-9, 9), min_size=4, max_size=4), min_size=1, max_size=8))
def test_a_row_has_the_median_of_its_own_sizes(rows):
    wanted = []
    for row in rows:
        sizes = sorted(abs(entry) for entry in row if entry)
        if sizes:
            wanted.append(sizes[(len(sizes) - 1) // 2])
    assert row_medians(entries_of(np.array(rows))).tolist() == wanted


@given(
    st.floats(0.01, 50.0),
    st.floats(1e-12, 0.1),
    st.sampled_from(["add_remove", "replace_one"]),
    st.integers(1, 10**5),
    st.floats(1e-6, 1e6),
    st.floats(1e-3, 1e3),
    st.floats(0.001, 0.9),
)
def test_a_plan_costs_the_same_at_any_bound(epsilon, delta, relation, rounds, bound, q, share):
    plan = plan_selections(epsilon, delta, relation, rounds, 1.0, 1.0, 0.05, share)
    there = plan.at(bound, q)
    assert there.event == plan.event and there.round_epsilon == plan.round_epsilon
    fixed = plan_selections(epsilon, delta, relation, rounds, bound, q, 0.05, share)
    assert fixed.theta * (1 - 1e-12) <= there.theta <= fixed.theta * (1 + 1e-12)
    spent = dplasso.privacy.calibration.selection_event(there.theta, rounds, bound, relation, q)
    assert spent.event.epsilon <= plan.round_epsilon
    assert epsilon * (1 - 1e-6) <= zcdp.epsilon_of(plan.rho, delta) <= epsilon


def test_candidates_are_powers_of_the_root_of_two():
    assert private_bound.CANDIDATES[0] == 2.0**-20 and private_bound.CANDIDATES[-1] == 2.0**20
    assert 1.0 in private_bound.CANDIDATES and Fraction(1, 10) == private_bound.SHARE
