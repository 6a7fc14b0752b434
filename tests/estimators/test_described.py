"""Facts that only the reader of the rows knows are in the statement when fit returns."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import dplasso
from dplasso import PrivateLassoClassifier, PrivateLassoRegressor, Schema
from dplasso.data.described import DescribedRows
from dplasso.privacy.leaks import UndeclaredBoundWarning
from dplasso.privacy.statement import READ
from dplasso.schema import Ignore, Number, Person, Target

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


def people_rows(n=300):
    rng = np.random.default_rng(1)
    age = rng.integers(0, 100, n)
    sick = np.where(age > 50, "yes", "no")
    return {"age": age, "who": rng.integers(0, 60, n), "sick": sick, "cost": 30.0 * age}


CLASSES = Schema(
    {
        "age": Number(0, 100),
        "who": Person(),
        "sick": Target(["no", "yes"], class_weight={"no": 0.5}),
        "cost": Ignore(),
    },
    n_rows=250,
    n_people=50,
    rows_per_person=3,
)
COSTS = Schema({"age": Number(0, 100), "cost": Target(low=0, high=3000)}, n_rows=250)


def strictly(model, rows):
    """Fit where strict mode rejects every fact that is not declared."""
    dplasso.set_strict(True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return model.fit(rows.described(), rows.y)
    finally:
        dplasso.set_strict(None)


@pytest.mark.parametrize("solver", ["auto", "gradient", "frank_wolfe"])
def test_a_schema_declares_all_that_a_classifier_leaves_out(solver, tmp_path):
    rows = dplasso.read_rows(people_rows(), schema=CLASSES)
    model = strictly(PrivateLassoClassifier(1.0, solver=solver), rows)
    public = model.privacy_["public"]
    for name, value in {
        "classes": ["no", "yes"],
        "class_weight": ["no: 0.5", "yes: 1"],
        "n_people": 50,
        "rows_per_person": 3,
    }.items():
        assert public[name] == {"value": value, "source": "declared"}
    assert public["n_rows"]["value"] == 150 and "declared" in public["n_rows"]["source"]
    assert model.privacy_["unit"] == "person: who"
    assert model.get_params() == PrivateLassoClassifier(1.0, solver=solver).get_params()
    model.save(tmp_path / "m.dpl")
    again = dplasso.load(tmp_path / "m.dpl")
    assert again.rows_per_person == 3 and again.person == "who" and again.n_people == 50
    assert np.array_equal(again.predict_proba(people_rows()), model.predict_proba(people_rows()))


def test_a_fit_with_facts_of_the_schema_is_that_with_the_same_parameters():
    rows, own = dplasso.read_rows(people_rows(), schema=CLASSES), {"random_state": 3}
    public = {"classes": ["no", "yes"], "class_weight": {"no": 0.5, "yes": 1.0}, "n_rows": 250}
    people = {"n_people": 50, "rows_per_person": 3, "person": "who"}
    one = PrivateLassoClassifier(1.0, **own).fit(rows.described(), rows.y)
    other = PrivateLassoClassifier(1.0, **own, **public, **people).fit(rows.described(), rows.y)
    assert np.array_equal(one.coef_, other.coef_) and one.privacy_["rho"] == other.privacy_["rho"]


def test_parameters_come_before_facts_of_the_schema():
    rows = dplasso.read_rows(people_rows(), schema=CLASSES)
    own = {"n_people": 40, "rows_per_person": 2, "class_weight": {"no": 1.0, "yes": 0.25}}
    public = PrivateLassoClassifier(1.0, **own).fit(rows.described(), rows.y).privacy_["public"]
    assert public["n_people"]["value"] == 40 and public["rows_per_person"]["value"] == 2
    assert public["class_weight"] == {"value": ["no: 1", "yes: 0.25"], "source": "given"}


def test_facts_about_people_are_not_those_of_other_people():
    rows, others = dplasso.read_rows(people_rows(), schema=CLASSES), np.arange(300)
    model = PrivateLassoClassifier(1.0, n_people=300, n_rows=300)
    statement = model.fit(rows.described(), rows.y, groups=others).privacy_
    assert statement["unit"] == "person" and statement["public"]["rows_per_person"]["value"] == 1
    same = PrivateLassoClassifier(1.0).fit(rows.described(), rows.y, groups=rows.groups).privacy_
    assert same["unit"] == "person: who" and same["public"]["rows_per_person"]["value"] == 3


def test_a_schema_declares_the_range_of_numbers_that_a_regressor_predicts(tmp_path):
    rows = dplasso.read_rows(people_rows(), schema=COSTS)
    model = strictly(PrivateLassoRegressor(20.0), rows)
    assert model.privacy_["bounds"]["y_bound"] == {"value": [0.0, 3000.0], "source": "declared"}
    assert model.y_bound is None and model.predict(people_rows()).max() > 1000.0
    model.save(tmp_path / "m.dpl")
    again = dplasso.load(tmp_path / "m.dpl")
    assert tuple(again.y_bound) == (0.0, 3000.0)
    assert np.array_equal(again.predict(people_rows()), model.predict(people_rows()))


def test_facts_of_rows_are_forgotten_with_the_next_fit():
    rows = dplasso.read_rows(people_rows(), schema=CLASSES)
    model = PrivateLassoClassifier(1.0).fit(rows.described(), rows.y)
    model.set_params(classes=[0, 1], n_rows=60, x_bound=1.0).fit(X, Y)
    assert not hasattr(model, "declared_") and model.privacy_["unit"] == "row"
    assert model.classes_.tolist() == [0, 1]


def test_more_rows_per_person_than_whole_numbers_hold_are_rejected_from_a_schema_too():
    rows = dplasso.read_rows(people_rows(), schema=replace(CLASSES, rows_per_person=10**9))
    with pytest.raises(ValueError, match="rows_per_person"):
        PrivateLassoClassifier(1.0).fit(rows.described(), rows.y)
