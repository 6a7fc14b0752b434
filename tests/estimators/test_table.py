"""Fits to tables: what they give, state, cost, keep and refuse."""

import json
import math
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import dplasso
from dplasso import Budget, PrivateLassoClassifier, PrivateLassoRegressor
from dplasso.data import ColumnBounds
from dplasso.privacy import gaussian, zcdp
from dplasso.privacy.events import BoundedRange
from dplasso.report import write_report
from dplasso.storage import open_store
from storages import FORMS
from stores import build
from tables import easy_table

ROWS = 1500
NAMES = ["age", "member", "dose", "change"]
seeds = pytest.mark.filterwarnings("ignore:random_state:dplasso.PrivacyLeakWarning")


def classifier(classes=2, epsilon=4.0, **options):
    given = {"classes": range(classes), "n_rows": ROWS, "x_bound": easy_table(1)[2]}
    return PrivateLassoClassifier(epsilon, **{**given, "solver": "table", **options})


def regressor(epsilon=4.0, **options):
    given = {"y_bound": 8.0, "n_rows": ROWS, "x_bound": easy_table(1)[2], "solver": "table"}
    return PrivateLassoRegressor(epsilon, **{**given, **options})


def table(classes=2):
    return easy_table(ROWS, classes)[:2]


@pytest.mark.parametrize("neighboring", ["add_remove", "replace_one"])
@pytest.mark.parametrize(
    ("model", "classes", "least"),
    [
        (classifier(), 2, 0.88),
        (classifier(loss="hinge"), 2, 0.88),
        (classifier(3), 3, 0.75),
        (regressor(), 0, 0.85),
        (regressor(residual_bound=2.0), 0, 0.8),
    ],
)
def test_it_learns(model, classes, least, neighboring):
    X, y = table(classes)
    model = clone(model).set_params(neighboring=neighboring).fit(X, y)
    assert model.score(X, y) > least
    assert model.solver_ == "table" and model.row_map_ == "as_is" and len(model.vertices_) == 0


def test_ranges_may_be_listed_named_or_come_with_a_frame():
    X, y = table()
    ranges = easy_table(1)[2]
    frame = pd.DataFrame(X, columns=NAMES)
    named = dict(zip(NAMES, ranges, strict=True))
    plain = classifier(epsilon=math.inf).fit(X, y)
    for model in (
        classifier(epsilon=math.inf, x_bound=named, feature_names=NAMES).fit(frame, y),
        classifier(epsilon=math.inf, x_bound=ranges).fit(frame, y),
        classifier(epsilon=math.inf, x_bound=np.array([[20, 80], [0, 1], [-3, 3], [-3, 3]])).fit(
            X, y
        ),
    ):
        assert np.array_equal(model.coef_, plain.coef_)
        assert np.array_equal(model.intercept_, plain.intercept_)
    assert classifier(x_bound=named, feature_names=NAMES).plan(ROWS, 4).bounds is not None


@seeds
@pytest.mark.parametrize("model", [classifier(), classifier(3), regressor()])
def test_threads_storage_and_dtype_change_no_bit(model, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, (200, 4)) * (rng.random((200, 4)) < 0.7)
    y = np.abs(X[:, 0]) % 2
    options = {"random_state": 3, "x_bound": [(-3, 3), 2.0, (0, 5), (-1, 1)], "n_rows": 200}
    model = clone(model).set_params(**options)

    def result(X, **changes):
        fitted = clone(model).set_params(**changes).fit(X, y)
        return fitted.coef_.tobytes() + fitted.intercept_.tobytes()

    one = result(X.astype(float), n_jobs=1)
    assert result(X.astype(float), n_jobs=3) == one
    for kind in (np.float32, np.int8, np.int64):
        assert result(X.astype(kind)) == one
    for form in ("fortran", "csr", "csc", "coo with repeats", "csc with repeats and zeros"):
        assert result(FORMS[form](X.astype(np.float64))) == one
    # Held columns take one bound for all.
    held = dplasso.ColumnMatrix.of(X.astype(np.float32), 3.0)
    assert result(held, x_bound=3.0) == result(X.astype(float), x_bound=3.0)


def test_a_column_store_gives_the_same_model(tmp_path):
    X, y = table()
    build(tmp_path / "rows", sp.csr_array(X), y)
    matrix = open_store(tmp_path / "rows").matrix(80.0)
    found = classifier(epsilon=math.inf, x_bound=80.0).fit(matrix, y)
    plain = classifier(epsilon=math.inf, x_bound=80.0).fit(X, y)
    assert np.array_equal(found.coef_, plain.coef_)


@pytest.mark.parametrize(
    ("model", "classes", "names"),
    [
        (classifier(epsilon=1.0), 2, ["counts of classes", "corrections of probabilities"]),
        (classifier(3, epsilon=1.0), 3, ["counts of classes", "corrections of probabilities"]),
        (classifier(epsilon=1.0, loss="hinge"), 2, ["counts of classes"]),
        (regressor(epsilon=1.0), 0, ["mean and spread of the labels", "sizes of residuals"]),
    ],
)
def test_the_statement_lists_all_releases_and_prices_them(model, classes, names):
    model = clone(model).fit(*table(classes))
    stated = json.loads(json.dumps(model.privacy_, allow_nan=False))
    square = 0.0
    for release in stated["releases"]:
        count = release["what"].split()[0]
        square += (int(count) if count.isdigit() else 1) * release["noise_multiplier"] ** -2
    assert math.sqrt(square) == pytest.approx(stated["mu"], rel=1e-9)
    assert gaussian.epsilon_of(math.sqrt(square), 1e-6) == pytest.approx(1.0, rel=1e-6)
    told = str(model.privacy_)
    for name in [
        *names,
        *("mean and mean square of all cells", "means of the columns", "spreads of the columns"),
        *("products of all pairs of columns", "sums of row gradients", "GDP"),
    ]:
        assert name in told
    planned = clone(model).plan(ROWS, 4)
    assert [release.what for release in planned.releases] == [
        release["what"] for release in stated["releases"]
    ]
    assert planned.mu == stated["mu"] and planned.steps.value == model.n_iter_
    assert "solver table" in str(planned)


def test_the_statement_names_the_ranges_without_listing_them():
    X, y = table()
    bounds = classifier().fit(X, y).privacy_["bounds"]["x_bound"]
    assert bounds == {
        "value": "a range per column, all between -3 and 80, or a bound of at most 3",
        "source": "declared",
    }
    assert classifier(x_bound=80.0).fit(X, y).privacy_["bounds"]["x_bound"]["value"] == 80.0
    beside = [(-3, 80)] * (X.shape[1] - 1) + [1.0]
    assert classifier(x_bound=beside).plan(ROWS, X.shape[1]).to_dict()["bounds"]["x_bound"] == {
        "value": "a range per column, all between -3 and 80, or a bound of at most 1",
        "source": "declared",
    }
    # All solvers use ranges.
    other = classifier(solver="gradient").fit(X, y).privacy_["bounds"]["x_bound"]["value"]
    assert other == bounds["value"]
    wide = classifier(x_bound=[(0, 1)] * 2000).plan(ROWS, 2000)
    assert len(str(wide)) < 3000 and "between 0 and 1" in str(wide)


def test_a_saved_model_predicts_the_same_and_has_a_page(tmp_path):
    for model, classes in ((classifier(), 2), (classifier(3), 3), (regressor(), 0)):
        X, y = table(classes)
        model.fit(X, y).save(tmp_path / "model.dpl")
        again = dplasso.load(tmp_path / "model.dpl")
        assert np.array_equal(again.predict(X), model.predict(X))
        assert again.solver_ == "table" and again.privacy_ == model.privacy_
        assert np.allclose(model.to_sklearn().predict(X), model.predict(X))
        write_report(tmp_path / "page.html", again)
        assert "between -3 and 80" in (tmp_path / "page.html").read_text()


def test_a_ledger_is_charged_for_the_whole_event(tmp_path):
    X, y = table()
    budget = Budget(1.0, 1e-6, tmp_path / "budget.sqlite")
    model = classifier(epsilon=1.0, accountant=budget).fit(X, y)
    (entry,) = [entry for entry in budget.entries() if entry.label]
    assert zcdp.rho(entry.event) == pytest.approx(model.privacy_["rho"], rel=1e-9)
    assert 0.99 < budget.spent_epsilon <= 1.0
    with pytest.raises(dplasso.BudgetError):
        clone(model).fit(X, y)


def test_nothing_is_drawn_where_a_charge_is_refused(monkeypatch):
    class Refusing:
        def charge(self, event, *, delta, neighboring, label):
            raise RuntimeError("no")

    monkeypatch.setattr("dplasso.fitting.table.fit_table", lambda *_, **__: pytest.fail("drawn"))
    with pytest.raises(RuntimeError, match="no"):
        classifier(accountant=Refusing()).fit(*table())


@pytest.mark.parametrize("share", [0.05, 0.5])
def test_a_private_bound_is_charged_with_the_fit(tmp_path, share):
    X, y = table()
    budget = Budget(1.0, 1e-6, tmp_path / "budget.sqlite")
    options = {"epsilon": 1.0, "x_bound": "private", "bound_share": share, "accountant": budget}
    model = classifier(**options).fit(X[:, 2:], y)
    (entry,) = budget.entries()
    assert entry.rho == pytest.approx(zcdp.rho_of(1.0, 1e-6), rel=1e-9)
    bound = entry.event.events[0]
    assert isinstance(bound, BoundedRange)
    assert bound.epsilon**2 / 8 == pytest.approx(share * entry.rho, rel=1e-9)
    assert model.privacy_["bounds"]["x_bound"]["source"] == "private quantile"
    assert model.privacy_["releases"][0]["what"] == "a bound on entries"


@pytest.mark.parametrize("classes", [2, 3])
def test_a_public_number_of_nonzeros_is_met(classes):
    X, y = table(classes)
    model = classifier(classes, n_nonzero=2).fit(X, y)
    assert np.count_nonzero(model.coef_) == 2
    assert model.privacy_["public"]["n_nonzero"] == {"value": 2, "source": "given"}
    assert model.score(X, y) > 1.2 / classes


def test_weights_are_in_the_units_of_the_columns():
    """Other units of a column, and of its range, change its weight and nothing else."""
    X, y = table()
    scale, shift = np.array([0.5, 1.0, 2.0, 8.0]), np.array([16.0, 0.0, -4.0, 0.0])
    ranges = ColumnBounds.of(easy_table(1)[2], 4).ranges
    plain = classifier(epsilon=math.inf).fit(X, y)
    moved = classifier(epsilon=math.inf, x_bound=ranges * scale[:, None] + shift[:, None])
    moved.fit(X * scale + shift, y)
    assert moved.coef_ * scale == pytest.approx(plain.coef_, rel=1e-4, abs=1e-4)
    found, wanted = moved.predict_proba(X * scale + shift), plain.predict_proba(X)
    assert np.allclose(found, wanted, atol=1e-4)


@pytest.mark.parametrize("rows", ["presence", "sqrt", "blend"])
def test_mapped_rows_are_predicted_as_they_were_fitted(rows):
    X, y = table()
    model = classifier(row_map=rows, epsilon=50.0).fit(np.abs(X), y)
    assert model.row_map_ == rows
    assert model.score(np.abs(X), y) > (0.6 if rows == "presence" else 0.75)


def test_columns_without_width_get_no_weight():
    X, y = table()
    model = classifier(x_bound=[(20, 80), (0, 1), (5, 5), (0, 0)]).fit(X, y)
    assert np.all(model.coef_[:, 2:] == 0.0) and model.score(X, y) > 0.7


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"radius": 3.0}, "are for solver='frank_wolfe'"),
        ({"n_nonzero": 0}, "n_nonzero"),
        ({"x_bound": [(0, 1)] * 3}, "x_bound must have one bound per column, got 3 for 4"),
        (
            {"x_bound": [(0, 1), (0, 1), (1, 0), (0, 1)]},
            "x_bound must have finite ranges, each with its low end first; .* column 2,",
        ),
        ({"x_bound": [(0, 1, 2)] * 4}, "x_bound must have a positive number, or a low"),
        ({"x_bound": ([0] * 4, [1] * 4)}, r"numpy\.column_stack\(\[lows, highs\]\)"),
        ({"x_bound": [(0, 1e-300)] * 4}, "x_bound has a range that is narrower"),
        ({"x_bound": {"age": (0, 1)}}, "x_bound maps feature names, but X has none"),
        ({"x_bound": "public"}, "x_bound must be a positive number"),
    ],
)
def test_what_is_refused_costs_nothing(options, said, tmp_path):
    budget = Budget(4.0, 1e-6, tmp_path / "budget.sqlite")
    with pytest.raises(ValueError, match=said):
        classifier(accountant=budget, **options).fit(*table())
    assert not budget.entries()


def test_more_columns_than_a_table_may_have_are_refused():
    with pytest.raises(ValueError, match="16,384"):
        classifier(x_bound=1.0).plan(ROWS, 1 << 15)


def test_no_warning_comes_from_a_thread_of_the_fit():
    """Margins that overflow are those of single rows: nobody may be warned of them."""
    X, y = easy_table(ROWS)[:2]
    model = regressor(y_bound=1e275, n_jobs=3).fit(X, y / 8.0 * 1e275)
    assert np.all(np.isfinite(model.coef_))


@seeds
def test_a_fit_that_would_be_noise_says_so_and_predicts_the_released_constant():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (60, 20)), np.arange(60) % 2
    public = {"n_rows": 60, "x_bound": 1.0, "random_state": 0}  # a fit says so with probability .95
    with pytest.warns(dplasso.OnlyNoiseWarning, match="raise epsilon"):
        model = PrivateLassoClassifier(0.05, classes=[0, 1], solver="table", **public).fit(X, y)
    assert not model.fitted_.weights.nnz and len(set(model.decision_function(X))) == 1
    with pytest.warns(dplasso.OnlyNoiseWarning):
        model = PrivateLassoRegressor(0.05, y_bound=1.0, solver="table", **public).fit(X, X[:, 0])
    assert len(set(model.predict(X))) == 1 and abs(model.predict(X[:1])[0]) <= 1.0


@seeds
def test_a_model_is_kept_if_a_warning_about_it_raises():
    """It was paid for."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (60, 20)), np.arange(60) % 2
    public = {"n_rows": 60, "x_bound": 1.0, "random_state": 0}
    model = PrivateLassoClassifier(0.05, classes=[0, 1], solver="table", **public)
    with warnings.catch_warnings():
        warnings.simplefilter("error", dplasso.OnlyNoiseWarning)
        with pytest.raises(dplasso.OnlyNoiseWarning):
            model.fit(X, y)
    assert model.privacy_["epsilon"] == 0.05 and len(set(model.decision_function(X))) == 1


def r2(y, found):
    return 1.0 - np.mean((y - found) ** 2) / np.var(y)


@seeds
@pytest.mark.parametrize(("n_rows", "epsilon"), [(2000, 10.0), (20_000, 1.0)])
def test_labels_that_columns_explain_are_no_noise_however_small_they_are(n_rows, epsilon):
    """Their spread, and what is left of it, are below the noise of their measurement."""
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (n_rows, 3))
    y = 0.03 * X[:, 0]
    public = {"n_rows": n_rows, "x_bound": 1.0, "y_bound": 1.0, "solver": "table"}
    for seed in range(3):
        model = PrivateLassoRegressor(epsilon, random_state=seed, **public).fit(X, y)
        assert r2(y, model.predict(X)) > 0.95


@seeds
def test_columns_that_are_rarely_on_do_not_lead_many_classes_astray():
    """Gradients saw rows without them far longer than margins did: steps overshot."""
    rng = np.random.default_rng(3)
    shares = np.append(0.95, np.full(20, 0.0025))
    flags = np.eye(21)[rng.choice(21, 10_000, p=shares)]
    X = np.hstack([flags, rng.normal(size=(10_000, 2)) / 4])
    margins = X @ rng.normal(size=23)
    y = np.digitize(margins, np.quantile(margins, [0.25, 0.5, 0.75]))
    public = {"classes": range(4), "n_rows": 5000, "x_bound": 1.0, "solver": "table"}
    losses = []
    for epsilon in (1.0, 100.0):
        model = PrivateLassoClassifier(epsilon, random_state=0, **public).fit(X[:5000], y[:5000])
        found = model.predict_log_proba(X[5000:])[np.arange(5000), y[5000:]]
        losses.append(-float(found.mean()))
    assert max(losses) < 0.9 * math.log(4)  # what the shares of the classes have


@pytest.mark.parametrize(
    ("x_bound", "y_bound"), [(1.0, 5e-324), (1.0, 1e-300), (1e-200, 1e200), (1e-290, 1e20)]
)
def test_labels_beyond_what_numbers_can_hold_are_rejected_before_the_charge(
    x_bound, y_bound, tmp_path
):
    budget = Budget(1.0, 1e-6, tmp_path / "budget.sqlite")
    X = np.linspace(0.0, x_bound, 60)[:, None]
    public = {"n_rows": 60, "x_bound": x_bound, "y_bound": y_bound, "solver": "table"}
    with pytest.raises(ValueError, match="rescale the labels or X"):
        PrivateLassoRegressor(0.5, accountant=budget, **public).fit(X, np.zeros(60))
    assert not budget.entries()


@pytest.mark.parametrize("form", ["dense", "csr", "csc", "coo with repeats"])
def test_new_rows_are_cut_to_their_ranges(form):
    X, y = easy_table(ROWS)[:2]
    model = regressor(x_bound=[(-1.0, 1.0)] * X.shape[1]).fit(X, y)
    inside = np.clip(X, -1.0, 1.0)
    beyond = np.where(np.abs(X) >= 1.0, 1e6 * X, X)
    assert np.array_equal(model.predict(FORMS[form](beyond)), model.predict(FORMS[form](inside)))


@seeds
def test_without_privacy_rare_columns_beside_their_sum_can_be_fitted():
    rng = np.random.default_rng(0)
    flags = np.eye(30)[rng.choice(30, 3000, p=np.append(0.9, np.full(29, 0.1 / 29)))]
    public = {"classes": [0, 1], "n_rows": 3000, "x_bound": 1.0, "solver": "table"}
    for seed in range(3):
        y = (rng.random(3000) < 0.5).astype(int)
        model = PrivateLassoClassifier(math.inf, random_state=seed, **public).fit(flags, y)
        assert np.all(np.isfinite(model.coef_))


@seeds
@pytest.mark.parametrize("epsilon", [1.0, 8.0, 100.0])
def test_probabilities_of_a_rare_class_are_right_at_every_epsilon(epsilon):
    """Their margins lie far from 0, where Newton steps overshoot and cut margins are all alike."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 1.0, (30_000, 6))
    margins = 4.0 * (X[:, 0] - X[:, 1]) - 4.6
    y = (rng.random(30_000) < 1.0 / (1.0 + np.exp(-margins))).astype(int)
    public = {"classes": [0, 1], "n_rows": 30_000, "x_bound": [(0, 1)] * 6, "solver": "table"}
    constant = -math.log(y.mean()) * y.mean() - math.log(1 - y.mean()) * (1 - y.mean())
    for seed in range(3):
        model = PrivateLassoClassifier(epsilon, random_state=seed, **public).fit(X, y)
        assert model.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), rel=0.25)
        assert -model.predict_log_proba(X)[np.arange(len(y)), y].mean() < 0.97 * constant


@seeds
def test_a_default_fit_to_hardly_any_rows_is_no_worse_than_the_shares_of_the_classes():
    rng = np.random.default_rng(0)
    X, new = rng.uniform(0.0, 1.0, (2, 100, 12))
    y, labels = (np.arange(100) % 3 == 0).astype(int), (np.arange(100) % 3 == 0).astype(int)
    public = {"classes": [0, 1], "n_rows": 100, "x_bound": [(0, 1)] * 12}
    for seed in range(5):
        model = PrivateLassoClassifier(0.01, random_state=seed, **public).fit(X, y)
        assert -model.predict_log_proba(new)[np.arange(100), labels].mean() < 0.75


def _scores_of_wide_ranges(epsilon):
    """R2 on new rows, with all declared ranges ten times too wide, for several seeds."""
    true, found = np.array([1.0, -0.5, 0.5, 0.0, 0.0, 0.0, 0.3, 0.0, 0.0, 0.0]), []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1.0, 1.0, (20_000, 10))
        y = X @ true + 0.3 * rng.normal(size=len(X))
        model = PrivateLassoRegressor(
            epsilon, 1e-8, y_bound=25.0, n_rows=10_000, x_bound=10.0, random_state=seed
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(model.fit(X[:10_000], y[:10_000]).score(X[10_000:], y[10_000:]))
    return np.array(found)


def test_ranges_far_too_wide_cost_no_more_than_the_model():
    """The mean of the labels is below the noise of its own release, and so is their spread."""
    assert _scores_of_wide_ranges(0.1).min() > -0.1
    assert _scores_of_wide_ranges(1.0).min() > 0.7


def test_a_class_that_noise_hides_is_given_a_small_probability():
    losses = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1.0, 1.0, (20_000, 10))
        y = (rng.random(20_000) < 0.001).astype(int)
        model = PrivateLassoClassifier(
            0.1, 1e-8, classes=[0, 1], n_rows=10_000, x_bound=1.0, random_state=seed
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            shares = model.fit(X[:10_000], y[:10_000]).predict_proba(X[10_000:])
        losses.append(-np.mean(np.log(shares[np.arange(10_000), y[10_000:]])))
    assert np.mean(losses) < 0.018  # the shares of the classes have 0.008
