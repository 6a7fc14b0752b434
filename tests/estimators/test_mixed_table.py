"""Tables with wide columns beside them: how they are declared, what a fit states and keeps."""

import json
import math

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import dplasso
from dplasso import Budget, PrivateLassoClassifier, PrivateLassoRegressor
from dplasso.data import ColumnBounds
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
