"""Tables with wide columns beside them: how they are declared, what a fit states and keeps."""

import json
import math

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import dplasso
from charging import Counted
from dplasso import Budget, PrivateLassoClassifier, PrivateLassoRegressor, load
from dplasso.base import memory
from dplasso.data import ColumnBounds
from dplasso.data.sparse_bounds import SparseBounds
from dplasso.fitting.auto_rules import table_part
from dplasso.privacy import gaussian, zcdp
from dplasso.reading.conversion import convert
from dplasso.report import write_report
from storages import FORMS
from tables import easy_table

ROWS, WIDE = 1500, 1200
seeds = pytest.mark.filterwarnings("ignore:random_state:dplasso.PrivacyLeakWarning")


def mixed(classes=2, rows=ROWS):
    """An easy table with a flag of its own, which a wide column has, and its bounds."""
    X, y, ranges = easy_table(rows, classes)
    words = np.zeros((rows, WIDE))
    words[np.arange(rows), np.random.default_rng(1).integers(0, WIDE, rows)] = 1.0
    words[:, 7] = X[:, 1]
    bounds = [ranges[0], (0, 1), (-3.0, 3.0), ranges[3], *[1.0] * WIDE]
    narrow = np.column_stack([X[:, 0], np.arange(rows) % 2, X[:, 2:]])
    return sp.csr_array(np.hstack([narrow, words])), y, bounds


BOUNDS = mixed(2, 10)[2]


def test_indicators_of_a_plan_are_those_that_are_declared():
    def indicators(x_bound, **options):
        model = PrivateLassoClassifier(
            **{"classes": [0, 1], "n_rows": ROWS, "solver": "table", "x_bound": x_bound, **options}
        )
        return model.plan(ROWS, len(x_bound)).table.indicators

    assert indicators(BOUNDS) == (1,)
    last = [1.0] * WIDE + [(0, 1), (0, 9), (0, 1)]  # places among the columns with ranges
    assert indicators(last) == (0, 2)
    assert indicators([(0, 1), (0, 1), (0, 2), 1.0]) == (0, 1)
    assert indicators([(0, 1), (0, 2)], row_map="sqrt") == ()


def classifier(classes=2, epsilon=4.0, **options):
    given = {"classes": range(classes), "n_rows": ROWS, "x_bound": BOUNDS}
    return PrivateLassoClassifier(epsilon, **{**given, **options})


def regressor(epsilon=4.0, **options):
    given = {"y_bound": 8.0, "n_rows": ROWS, "x_bound": BOUNDS}
    return PrivateLassoRegressor(epsilon, **{**given, **options})


@pytest.mark.parametrize("neighboring", ["add_remove", "replace_one"])
@pytest.mark.parametrize(
    ("model", "classes", "least"),
    [(classifier(), 2, 0.85), (classifier(3), 3, 0.72), (regressor(), 0, 0.8)],
)
def test_auto_takes_it_for_a_table_and_learns_from_both_parts(model, classes, least, neighboring):
    X, y, _ = mixed(classes)
    model = clone(model).set_params(neighboring=neighboring).fit(X, y)
    assert model.solver_ == "table" and model.score(X, y) > least
    weights = np.abs(model.fitted_.weights.toarray()).sum(axis=0)
    assert weights[4 + 7] > 0.0 and np.count_nonzero(weights[4:]) < 20
    assert model.score(X.toarray(), y) == model.score(X, y)


def test_only_pairs_beside_very_many_numbers_make_columns_wide():
    def part(x_bound, columns):
        return table_part(ColumnBounds.of(x_bound, columns), columns)

    assert part(BOUNDS, len(BOUNDS)).tolist() == [0, 1, 2, 3]
    for x_bound, columns in [
        (BOUNDS[:900], 900),
        ([(0, 1)] * 1200, 1200),
        ([1.0] * 1200, 1200),
        (1.0, 1200),
        (np.zeros((1200, 2)), 1200),
    ]:
        assert part(x_bound, columns) is None
    few = classifier(x_bound=[(0, 1)] * 3 + [1.0] * WIDE)
    assert few.plan(ROWS, WIDE + 3).solver == "gradient"  # words say most there
    assert few.set_params(solver="table").plan(ROWS, WIDE + 3).table.n_wide == WIDE


@seeds
@pytest.mark.parametrize("model", [classifier(), classifier(3), regressor()])
def test_threads_storage_and_dtype_change_no_bit(model):
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, (200, len(BOUNDS))) * (rng.random((200, len(BOUNDS))) < 0.1)
    X[:, 4:10] = 1
    y = np.abs(X[:, 0]) % 2
    model = clone(model).set_params(random_state=3, n_rows=200, solver="table")

    def result(X, **changes):
        fitted = clone(model).set_params(**changes).fit(X, y)
        return fitted.fitted_.weights.toarray().tobytes() + fitted.intercept_.tobytes()

    one = result(X.astype(float), n_jobs=1)
    assert result(X.astype(float), n_jobs=3) == one
    for kind in (np.float32, np.int8):
        assert result(X.astype(kind)) == one
    for form in ("csr", "csc", "coo with repeats", "csc with repeats and zeros"):
        assert result(FORMS[form](X.astype(np.float64))) == one


def test_the_statement_lists_the_presences_and_prices_all_releases(tmp_path):
    X, y, _ = mixed()
    model = classifier(epsilon=1.0).fit(X, y)
    stated = json.loads(json.dumps(model.privacy_, allow_nan=False))
    assert stated["releases"][0]["what"] == "presences of the wide columns"
    square = 0.0
    for release in stated["releases"]:
        count = release["what"].split()[0]
        square += (int(count) if count.isdigit() else 1) * release["noise_multiplier"] ** -2
    assert gaussian.epsilon_of(math.sqrt(square), 1e-6) == pytest.approx(1.0, rel=1e-6)
    assert stated["public"]["wide_columns"]["value"] == WIDE
    planned = classifier(epsilon=1.0).plan(ROWS, len(BOUNDS))
    assert [release.what for release in planned.releases] == [
        release["what"] for release in stated["releases"]
    ]
    budget = Budget(1.0, 1e-6, tmp_path / "budget.sqlite")
    charged = classifier(epsilon=1.0, accountant=budget).fit(X, y)
    (entry,) = [entry for entry in budget.entries() if entry.label]
    assert zcdp.rho(entry.event) == pytest.approx(charged.privacy_["rho"], rel=1e-9)


def test_a_saved_model_predicts_the_same_and_has_a_page(tmp_path):
    for model, classes in ((classifier(), 2), (classifier(3), 3), (regressor(), 0)):
        X, y, _ = mixed(classes)
        model.fit(X, y).save(tmp_path / "model.dpl")
        again = dplasso.load(tmp_path / "model.dpl")
        assert np.array_equal(again.predict(X), model.predict(X))
        assert again.privacy_ == model.privacy_ and again.plan(ROWS, len(BOUNDS)).table.n_wide
        assert np.allclose(model.to_sklearn().predict(X), model.predict(X))
        write_report(tmp_path / "page.html", again)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_public_number_of_nonzeros_is_met(classes):
    X, y, _ = mixed(classes)
    model = classifier(classes, n_nonzero=3).fit(X, y)
    assert model.fitted_.weights.nnz == 3


@seeds
def test_a_table_of_numbers_and_text_reaches_it_from_a_file_and_a_store(tmp_path):
    rng = np.random.default_rng(0)
    size, word = rng.normal(size=ROWS), rng.integers(0, 2, ROWS)
    label = size + 2.0 * word - 1.0 > 0
    lines = [
        f"{s:.4f},{s * s:.4f},w{w} x,{int(y)}" for s, w, y in zip(size, word, label, strict=True)
    ]
    (tmp_path / "rows.csv").write_text("\n".join(["size,square,note,y", *lines]))
    bounds = {"size": (-4.0, 4.0), "square": (0.0, 16.0)}
    options = {"target": "y", "bounds": bounds, "text": ["note"], "buckets": 2048}
    options["missing"] = ["size", "square"]
    options["classes"] = ["0", "1"]
    convert(tmp_path / "rows.csv", tmp_path / "store", n_rows=ROWS, **options)
    found = []
    for rows in (
        dplasso.read_rows(tmp_path / "rows.csv", **options),
        dplasso.read_rows(tmp_path / "store"),
    ):
        model = classifier(x_bound=rows.bounds, random_state=0)
        model.set_params(classes=["0", "1"]).fit(rows.described(), rows.y)
        model.predict_file(tmp_path / "rows.csv", tmp_path / "predicted")
        predicted = (tmp_path / "predicted").read_text().split()
        assert model.solver_ == "table" and np.mean(np.array(predicted) == rows.y) > 0.9
        model.save(tmp_path / "model")
        assert dplasso.load(tmp_path / "model").x_bound == rows.bounds
        found.append(model.fitted_.weights.toarray())
    assert np.array_equal(*found)


def test_few_ranges_beside_many_bounds_are_fitted():
    """Those are not taken for a table; bounds of both kinds must not end in an error."""
    X = sp.random_array((60, 1202), density=0.02, rng=np.random.default_rng(0), format="csr")
    bounds = [(0.0, 1.0)] * 2 + [1.0] * 1200
    model = PrivateLassoClassifier(classes=[0, 1], n_rows=60, x_bound=bounds)
    assert model.fit(X, np.arange(60) % 2).solver_ == "gradient"


def test_zeros_outside_their_range_are_predicted_as_they_were_fitted():
    """A missing number of a file is such a 0."""
    rng = np.random.default_rng(0)
    year = rng.uniform(1950.0, 2010.0, 4000)
    missing = rng.random(4000) < 0.2
    X = np.column_stack([np.where(missing, 0.0, year), missing])
    y = np.where(missing, 0.3, (year - 1980.0) / 60.0)
    public = {"n_rows": 4000, "x_bound": [(1950.0, 2010.0), (0.0, 1.0)], "y_bound": 1.0}
    model = PrivateLassoRegressor(8.0, solver="table", **public).fit(X, y)
    for form in (np.asarray, sp.csr_array):
        found = model.predict(form(X))
        assert np.mean((found - y)[missing] ** 2) < 0.01 * np.var(y)
        assert np.mean((found - y)[~missing] ** 2) < 0.01 * np.var(y)
    assert np.allclose(model.predict(X[~missing]), model.to_sklearn().predict(X[~missing]))


def test_bounds_with_ranges_survive_saving(tmp_path):
    bounds = SparseBounds(3, {0: 5.0}, {0: (2.0, 5.0), 1: (0.0, 1.0)})
    X = np.random.default_rng(0).uniform(0.0, 5.0, (200, 3))
    public = {"n_rows": 200, "x_bound": bounds, "y_bound": 5.0, "solver": "table"}
    model = PrivateLassoRegressor(8.0, **public).fit(X, X[:, 0])
    model.save(tmp_path / "model")
    beyond = 10.0 * X - 25.0
    assert np.array_equal(load(tmp_path / "model").predict(beyond), model.predict(beyond))


def test_what_might_be_taken_up_must_fit_into_memory_before_the_charge(monkeypatch):
    """How much is taken up follows from the data; numpy would also tell the number of rows."""
    monkeypatch.setattr(memory, "available", lambda: 10**6)
    X = sp.csr_array(np.ones((2000, 1100)))
    counted = Counted()
    public = {"n_rows": 1_000_000, "x_bound": [(0.0, 1.0)] * 4 + [1.0] * 1096, "classes": [0, 1]}
    model = PrivateLassoClassifier(solver="table", accountant=counted, **public)
    with pytest.raises(ValueError, match="memory") as error:
        model.fit(X, np.arange(2000) % 2)
    assert counted.charges == 0
    with pytest.raises(ValueError, match="memory") as other:
        model.fit(X[:1000], np.arange(1000) % 2)
    assert str(other.value) == str(error.value)  # whatever the number of rows is


@pytest.mark.parametrize("high", [1, 2, 2.7])
def test_a_store_keeps_the_ranges_of_its_table(tmp_path, high):
    """Also if all of its bounds are 1, and if single precision does not hold one."""
    path, rng = tmp_path / "rows.csv", np.random.default_rng(0)
    lines = [f"{u:.3f},w{k % 7},{k % 2}" for k, u in enumerate(rng.uniform(0, high, 300))]
    path.write_text("\n".join(["size,word,sick", *lines]))
    options = {"target": "sick", "bounds": {"size": (0, high)}, "hashed": {"word": 1100}}
    options["classes"] = ["0", "1"]
    given = dplasso.read_rows(path, **options)
    convert(path, tmp_path / "store", **options)
    stored = dplasso.read_rows(tmp_path / "store")
    assert stored.bounds == given.bounds and given.bounds.paired.tolist() == [0]


def test_a_range_far_from_zero_is_not_lost_in_a_file(tmp_path):
    path = tmp_path / "rows.csv"
    numbers = np.random.default_rng(0).uniform(1e9, 1e9 + 1.0, 3000)
    path.write_text("\n".join(["at,label", *(f"{u:.6f},{u - 1e9:.6f}" for u in numbers)]))
    rows = dplasso.read_rows(path, target="label", bounds={"at": (1e9, 1e9 + 1.0)})
    y = np.asarray(rows.y, float)
    model = PrivateLassoRegressor(8.0, n_rows=3000, x_bound=rows.bounds, y_bound=1.0)
    assert 1.0 - np.mean((model.fit(rows.X, y).predict(rows.X) - y) ** 2) / np.var(y) > 0.9


def test_the_statement_says_why_a_table_that_keeps_all_has_fewer_coefficients():
    X, y, bounds = mixed()
    model = classifier().fit(X, y)
    stated = model.privacy_["public"]["n_nonzero"]
    assert np.count_nonzero(model.coef_) < X.shape[1] and stated["value"] == "all"
    assert stated["source"].endswith("of the wide ones those that were found to be frequent")
    narrow = classifier(x_bound=bounds[:4]).fit(X[:, :4], y).privacy_["public"]["n_nonzero"]
    assert narrow["source"] == "public rule: a table cuts none of its columns; some may still be 0"
