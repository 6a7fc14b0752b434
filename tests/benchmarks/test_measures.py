"""Measures of the benchmarks against scikit-learn, and tables as the benchmarks read them."""

import gzip

import numpy as np
import pytest
from harness import measures, tables
from rivals_tables.problem import TableProblem
from sklearn import metrics
from sklearn.linear_model import LogisticRegression

CALIFORNIA = """\
longitude,latitude,housing_median_age,total_rooms,total_bedrooms,population,households,\
median_income,median_house_value,ocean_proximity
-122.23,37.88,41.0,880.0,129.0,322.0,126.0,8.3252,452600.0,NEAR BAY
-122.22,37.86,21.0,70990.0,,2401.0,1138.0,8.3014,358500.0,INLAND
-114,32,0,0,0,0,0,0,0,INLAND
"""


def test_measures_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    truth, found = rng.normal(size=50), rng.normal(size=50)
    assert measures.r2(truth, found) == pytest.approx(metrics.r2_score(truth, found))
    assert measures.r2(truth, np.full(50, 1e300)) == -1e6
    margins, classes = rng.normal(size=(50, 3)), rng.integers(0, 3, 50)
    shares = np.exp(margins) / np.exp(margins).sum(axis=1, keepdims=True)
    mine = measures.of_probabilities(classes, shares, "accuracy")
    assert mine["log-loss"] == pytest.approx(metrics.log_loss(classes, shares))
    assert mine["accuracy"] == np.mean(shares.argmax(axis=1) == classes)
    two = rng.integers(0, 2, 50)
    area = measures.of_margins(two, margins[:, 0], "AUC")["AUC"]
    assert area == pytest.approx(metrics.roc_auc_score(two, margins[:, 0]))


def test_a_fit_that_diverged_is_the_worst_by_every_measure():
    lost = np.full((4, 3), np.nan)
    truth = np.array([0, 1, 2, 0])
    for found in (
        measures.of_margins(truth, lost, "accuracy"),
        measures.of_probabilities(truth, lost, "accuracy"),
    ):
        assert found == {"accuracy": 0.0, "log-loss": 1e3}
    assert measures.of_numbers(truth, lost[:, 0]) == {"R2": -1e6}


def test_recalibration_is_logistic_regression_of_the_margin():
    rng = np.random.default_rng(1)
    margins = rng.normal(size=2_000)
    truth = (rng.random(2_000) < 1.0 / (1.0 + np.exp(0.5 - 3.0 * margins))).astype(int)
    shares = 1.0 / (1.0 + np.exp(-margins))
    found = measures.of_probabilities(truth, np.column_stack([1 - shares, shares]), "accuracy")
    model = LogisticRegression(C=1e9).fit(margins[:, None], truth)
    best = metrics.log_loss(truth, model.predict_proba(margins[:, None]))
    assert found["recalibrated log-loss"] == pytest.approx(best, abs=1e-4)
    assert found["log-loss"] > best + 0.05


@pytest.mark.parametrize("scale", [0.3, 1.0, 4.0])
def test_recalibration_undoes_a_scale_and_intercepts_of_many_classes(scale):
    rng = np.random.default_rng(2)
    margins = 2.0 * rng.normal(size=(3_000, 4))
    shares = np.exp(margins) / np.exp(margins).sum(axis=1, keepdims=True)
    truth = (shares.cumsum(axis=1) < rng.random((3_000, 1))).sum(axis=1)
    moved = scale * margins + np.array([0.0, 1.0, -1.0, 0.5])
    found = measures.recalibrated_log_loss(truth, moved)
    assert found == pytest.approx(measures.recalibrated_log_loss(truth, margins), abs=1e-4)


def test_calibration_error_is_the_gap_between_confidence_and_accuracy():
    shares = np.tile([0.8, 0.2], (10, 1))
    truth = np.array([0] * 5 + [1] * 5)
    assert measures.calibration_error(truth, shares) == pytest.approx(0.3)
    assert measures.calibration_error(np.array([0] * 8 + [1] * 2), shares) == pytest.approx(0.0)


def test_a_table_has_public_ranges_and_missing_numbers_in_the_middle(tmp_path, monkeypatch):
    monkeypatch.setenv("DPLASSO_DATA", str(tmp_path))
    assert tables.load("california") is None
    (tmp_path / "tables").mkdir()
    packed = gzip.compress(CALIFORNIA.encode())
    (tmp_path / "tables" / "california.csv.gz").write_bytes(packed)
    found = tables.load("california")
    assert found.X.shape == (3, 10) and len(found.ranges) == 10  # eight numbers, two levels
    assert found.X[1, 4] == 2_000.0 and found.X[1, 3] == 70_990.0
    assert found.cells[1, 3] == 1.0 and found.centred[2, 0] == 1.0
    assert found.cells[:, 8:].tolist() == [[0, 1], [1, 0], [1, 0]]
    assert found.y.tolist() == [202_600.0, 108_500.0, -250_000.0] and found.y_bound == 250_000.0
    assert (found.n_numbers, found.n_categories, found.n_classes) == (8, 1, 0)


def test_hashed_tables_have_the_rows_of_the_plain_one(tmp_path, monkeypatch):
    monkeypatch.setenv("DPLASSO_DATA", str(tmp_path))
    (tmp_path / "tables").mkdir()
    schema = tables.SCHEMAS["adult"]
    names = [*schema.numbers, *schema.categories, schema.target]
    rows = [
        [
            str(20 + i),
            *("1" for _ in range(4)),
            *(f"{c[0]}{i % 2}" for c in schema.categories),
            kind,
        ]
        for i, kind in enumerate(("<=50K", ">50K", "<=50K"))
    ]
    lines = "\n".join(", ".join(row) for row in (names, *rows))
    (tmp_path / "tables" / "adult.csv.gz").write_bytes(gzip.compress(lines.encode()))
    plain, hashed = tables.load("adult"), tables.load("adult_hashed")
    narrow = 5 + 2 * 6  # numbers, and two levels of every category that is not hashed
    assert plain.X.shape == (3, narrow + 4) and hashed.X.shape == (3, narrow + 2 * tables.BUCKETS)
    assert len(hashed.ranges) == hashed.X.shape[1] and np.array_equal(plain.y, hashed.y)
    wide = hashed.X[:, narrow:].toarray()
    assert wide.sum(axis=1).tolist() == [2.0, 2.0, 2.0]  # a bucket of each hashed column
    assert np.array_equal(wide[0], wide[2]) and not np.array_equal(wide[0], wide[1])
    assert [each.tolist() for each in plain.halves(7)] == [
        each.tolist() for each in hashed.halves(7)
    ]


def test_a_rival_that_predicts_beyond_the_bound_is_cut_to_it():
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 4.0, (400, 3))
    made = tables.Table("made", X, X[:, 0] - X[:, 1], [(0.0, 4.0)] * 3, y_bound=4.0)
    problem, far = TableProblem(made, 0), np.full(80, 3.0)
    assert problem.judge(far) == problem.judge_as_is(np.full(80, 4.0))
    assert problem.judge_as_is(far) != problem.judge_as_is(np.full(80, 4.0))
