"""Labels with a low and a high end: only their distance from the middle matters to a fit."""

import numpy as np
import pytest

import dplasso
from dplasso import PrivateLassoRegressor, PrivateSearch, audit

pytestmark = pytest.mark.filterwarnings("ignore:random_state:dplasso.PrivacyLeakWarning")
ROWS, COLUMNS, LOW, HIGH = 600, 6, 2048.0, 4096.0
MIDDLE, REACH = (LOW + HIGH) / 2.0, (HIGH - LOW) / 2.0
SOLVERS = ["table", "gradient", "frank_wolfe"]


def data():
    """Rows, and labels of which some are beyond both ends, on a grid that shifts keep exact."""
    rng = np.random.default_rng(5)
    X = rng.uniform(-1.0, 1.0, (ROWS, COLUMNS))
    return X, np.rint(MIDDLE + 1500.0 * X[:, 0] + 100.0 * rng.normal(size=ROWS))


def fitted(y, y_bound, solver, **more):
    X = data()[0]
    public = {"x_bound": 1.0, "y_bound": y_bound, "n_rows": ROWS, "solver": solver, **more}
    return PrivateLassoRegressor(**{"epsilon": 50.0, "random_state": 3, **public}).fit(X, y)


WAYS = [(solver, True) for solver in SOLVERS] + [("frank_wolfe", False)]


@pytest.mark.parametrize("epsilon", [50.0, np.inf])
@pytest.mark.parametrize(("solver", "fit_intercept"), WAYS)
def test_a_range_is_a_shift(solver, fit_intercept, epsilon):
    _, y = data()
    found = fitted(y, (LOW, HIGH), solver, epsilon=epsilon, fit_intercept=fit_intercept)
    plain = fitted(y - MIDDLE, REACH, solver, epsilon=epsilon, fit_intercept=fit_intercept)
    assert np.array_equal(found.coef_, plain.coef_) and np.any(found.coef_)
    assert np.array_equal(found.intercept_, plain.intercept_ + MIDDLE)


@pytest.mark.parametrize("solver", SOLVERS)
def test_predictions_stay_within_the_range(solver):
    X, y = data()
    found = fitted(y, (LOW, HIGH), solver).predict(100.0 * X)
    assert found.min() == LOW and found.max() == HIGH


def test_the_statement_and_a_saved_model_keep_the_range(tmp_path):
    X, y = data()
    model = fitted(y, (LOW, HIGH), "table")
    model.save(tmp_path / "model.dpl")
    again = dplasso.load(tmp_path / "model.dpl")
    assert np.array_equal(again.predict(X), model.predict(X))
    for one in (model, again):
        assert one.privacy_["bounds"]["y_bound"] == {"value": [LOW, HIGH], "source": "declared"}
    assert "y_bound = 2048.0 / 4096.0 (declared)" in str(again.privacy_)
    rows = 100.0 * X  # predictions beyond the range
    np.testing.assert_allclose(model.to_sklearn().predict(rows), model.predict(rows), rtol=1e-12)


def test_a_search_scores_by_half_of_the_range():
    X, y = data()
    public = {"x_bound": 1.0, "n_rows": ROWS}
    facts = {"epsilon": 50.0, "delta": 1e-6, "trials": 2.0, "random_state": 3}
    grid = {"max_iter": [5, 20]}

    def score(labels, y_bound):
        model = PrivateLassoRegressor(y_bound=y_bound, **public)
        return PrivateSearch(model, grid, **facts).fit(X, labels).best_score_

    assert score(y, (LOW, HIGH)) == pytest.approx(score(y - MIDDLE, REACH), rel=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_audit_understands_a_range(solver):
    public = {"x_bound": 1.0, "y_bound": (LOW, HIGH), "n_rows": ROWS, "solver": solver}
    checks = ["release", "sensitivity"] if solver != "frank_wolfe" else ["release"]
    report = audit.run(PrivateLassoRegressor(1.0, 1e-6, **public), checks=checks, seed=0)
    assert report.passed and {verdict.check for verdict in report} == set(checks)


@pytest.mark.parametrize(
    "y_bound", [(1.0,), (3.0, 1.0), (2.0, 2.0), (0.0, np.inf), (0.0, np.nan), (0, "b"), [1, 2, 3]]
)
def test_a_bad_range_is_rejected(y_bound):
    X, y = data()
    with pytest.raises(ValueError, match="^y_bound must be a number above 0, or a pair"):
        PrivateLassoRegressor(x_bound=1.0, y_bound=y_bound, n_rows=ROWS).fit(X, y)
