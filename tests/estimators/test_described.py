"""Facts that only the reader of the rows knows are in the statement when fit returns."""

import warnings

import numpy as np
import pytest

from dplasso import PrivateLassoClassifier, PrivateLassoRegressor
from dplasso.data.described import DescribedRows
from dplasso.privacy.leaks import UndeclaredBoundWarning
from dplasso.privacy.statement import READ

pytestmark = pytest.mark.filterwarnings("ignore:random_state makes the fit repeatable")
X, Y = np.random.default_rng(0).uniform(-1, 1, (60, 3)), np.arange(60) % 2
NAMES = ["age", "weight", "dose"]


def classifier():
    return PrivateLassoClassifier(classes=[0, 1], n_rows=60, x_bound=1.0, random_state=0)


@pytest.mark.parametrize("read", [(), ("classes",), ("n_features",), ("classes", "n_features")])
def test_sources_are_those_of_the_reader(read):
    public = classifier().fit(DescribedRows(X, read=frozenset(read)), Y).privacy_["public"]
    for name, usual in {"classes": "declared", "n_features": "the shape of X"}.items():
        assert public[name]["source"] == (READ if name in read else usual)


def test_names_and_the_plan_of_a_table_are_kept_until_the_next_fit():
    model = classifier().fit(DescribedRows(X, names=NAMES, table_plan={"zero_based": True}), Y)
    assert model.feature_names_in_ == NAMES and model.table_plan_ == {"zero_based": True}
    names = model.privacy_["public"]["feature_names"]
    assert names == {"value": "those of the columns", "source": "declared"}
    model.fit(X, Y)
    assert not hasattr(model, "table_plan_") and not hasattr(model, "feature_names_in_")
    assert "feature_names" not in model.privacy_["public"]


def test_a_description_changes_nothing_else():
    plain, described = classifier().fit(X, Y), classifier().fit(DescribedRows(X), Y)
    assert np.array_equal(plain.coef_, described.coef_) and plain.privacy_ == described.privacy_


def test_bounds_by_name_go_by_the_names_described():
    bounds = {"dose": 2.0, "age": 1.0, "weight": 4.0}
    model = PrivateLassoRegressor(n_rows=60, x_bound=bounds, y_bound=1.0, max_iter=3, radius=1.0)
    model.fit(DescribedRows(X, names=NAMES), X[:, 0])
    assert model.fitted_.reader.bounds_by_column.tolist() == [1.0, 4.0, 2.0]


BOUNDS = np.array([[0.0, 1.0], [-1.0, 1.0], [-2.0, 2.0]])


@pytest.mark.parametrize("solver", ["auto", "gradient", "frank_wolfe"])
def test_bounds_of_the_reader_count_where_none_are_declared(solver):
    def fitted(rows, **more):
        public = {"classes": [0, 1], "n_rows": 60, "solver": solver, "row_map": "as_is"}
        return PrivateLassoClassifier(random_state=0, **public, **more).fit(rows, Y)

    with warnings.catch_warnings():
        warnings.simplefilter("error", UndeclaredBoundWarning)
        found = fitted(DescribedRows(X, bounds=BOUNDS))
    given = fitted(X, x_bound=BOUNDS)
    assert np.array_equal(found.coef_, given.coef_)
    assert found.privacy_["bounds"] == given.privacy_["bounds"]
    assert found.x_bound is None and found.x_bound_ is BOUNDS
    again = found.set_params(x_bound=1.0).fit(DescribedRows(X, bounds=BOUNDS), Y)
    assert again.privacy_["bounds"]["x_bound"]["value"] == 1.0 and not hasattr(again, "x_bound_")


def test_new_rows_may_be_described_too():
    model = classifier().fit(DescribedRows(X, names=NAMES), Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # scikit-learn would warn of names that are missing
        found = model.predict_proba(DescribedRows(X, names=NAMES))
        assert model.score(DescribedRows(X, names=NAMES), Y) == model.score(DescribedRows(X), Y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert np.array_equal(found, model.predict_proba(X))
