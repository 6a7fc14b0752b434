"""Importance per column of the table: lengths of coefficients times public widths."""

import numpy as np
import pytest
import scipy.sparse as sp

from dplasso import PrivateLassoClassifier, PrivateOnlineClassifier
from dplasso.reading.plans import TablePlan
from dplasso.report import describe, render
from dplasso.report.importance import MOST, MOST_PARTS, importances
from dplasso.report.importance_section import importance_section
from dplasso.report.scale import widths_of
from dplasso.schema import FeatureSpace, Number, Schema, Target, Text
from html_pages import HOSTILE, Page
from refitted import refitted

PLAN = TablePlan(
    target="sick",
    bounds={"age": (20.0, 120.0), "year": (2000.0, 2010.0)},
    hashed={"town": 40, "note": 3},
    text=("note",),
    classes=("no", "yes"),
    missing=("age", "year"),
).schema()
SPACE = FeatureSpace(PLAN)


def table_model(weights, plan=PLAN, classes=("no", "yes"), **options):
    """A model of a table with given coefficients."""
    space = FeatureSpace(plan)
    X = np.zeros((6, space.size))
    known = {"classes": list(classes), "n_rows": 6, "max_iter": 2, "radius": 1.0}
    y = np.resize(np.array(classes), 6)
    model = PrivateLassoClassifier(1.0, **{"x_bound": space.bounds} | known | options)
    model.fit(sp.csr_array(X), y)
    model.feature_names_in_ = np.asarray(space.names)
    model.table_plan_ = plan.to_dict()
    return refitted(model, weights=sp.csr_array(np.atleast_2d(weights)))


def weights_of(**features):
    found = np.zeros(SPACE.size)
    for name, value in features.items():
        found[SPACE.names.tolist().index(name)] = value
    return found


@pytest.fixture(scope="module")
def model():
    weights = np.zeros(SPACE.size)
    names = SPACE.names.tolist()
    weights[names.index("age")] = 0.03  # 100 years wide
    weights[names.index("age is missing")] = 4.0
    weights[names.index("year")] = -0.2  # 10 years wide
    weights[names.index("town#0") : names.index("town#0") + 30] = np.linspace(0.1, 3.0, 30)
    return table_model(weights)


def test_a_column_counts_by_coefficients_times_public_widths(model):
    found = {one.column: one for one in importances(model)}
    assert list(found) == ["town", "age", "year"]  # by falling importance; note has nothing
    assert found["age"].size == pytest.approx(np.hypot(0.03 * 100, 4.0))
    assert found["year"].size == pytest.approx(2.0)
    assert found["town"].size == pytest.approx(np.linalg.norm(np.linspace(0.1, 3.0, 30)))
    assert found["town"].features == 30 and len(found["town"].parts) == MOST_PARTS
    reach = [abs(part.reach) for part in found["town"].parts]
    assert reach == sorted(reach, reverse=True) and reach[0] == pytest.approx(3.0)
    assert [part.feature for part in found["age"].parts] == ["age is missing", "age"]


def test_the_page_lists_columns_and_their_features_on_demand(model):
    page = Page(render(model))
    text = page.text_of("columns")
    assert text.index("town") < text.index("age") < text.index("year")
    # A column that is one number has nothing to unfold.
    assert len(page.all("summary", class_="column")) == 2 and "lowers the margin" in text
    assert "30 features; the 20 largest coefficients" in text
    assert "A short bar may be noise alone, and so may a long one" in text
    listed = describe(model)["columns"]
    assert [one["column"] for one in listed] == ["town", "age", "year"]
    for one in listed:
        assert f"{one['importance']:.3g}" in text


def test_without_a_table_and_with_one_output_the_coefficients_are_the_columns():
    X = np.random.default_rng(0).uniform(-1, 1, (50, 4))
    known = {"n_rows": 50, "max_iter": 20, "radius": 5.0}
    two = PrivateLassoClassifier(5.0, classes=[0, 1], **known).fit(X, np.arange(50) % 2)
    assert not Page(render(two)).all("section", id="columns")
    assert {one["column"] for one in describe(two)["columns"]} == {
        f"column {k}" for k in np.flatnonzero(two.coef_[0])
    }
    three = PrivateLassoClassifier(5.0, classes=[0, 1, 2], **known).fit(X, np.arange(50) % 3)
    assert Page(render(three)).all("section", id="columns")
    sizes = {one.column: one.size for one in importances(three)}
    for column, expected in enumerate(np.linalg.norm(three.coef_, axis=0)):
        assert sizes.get(f"column {column}", 0.0) == pytest.approx(expected)


def test_a_model_of_zeros_has_no_such_section():
    assert not Page(render(table_model(np.zeros(SPACE.size)))).all("section", id="columns")


def test_ranges_by_column_count_by_their_width():
    X = np.random.default_rng(0).uniform(-1, 1, (60, 3))
    bounds = [(100.0, 101.0), 2.0, (-3.0, 3.0)]
    model = PrivateLassoClassifier(5.0, classes=[0, 1, 2], n_rows=60, x_bound=bounds)
    refitted(model.fit(X, np.arange(60) % 3), weights=sp.csr_array(np.ones((3, 3))))
    sizes = {one.column: one.size for one in importances(model)}
    expected = {f"column {k}": np.sqrt(3) * width for k, width in enumerate((1.0, 2.0, 6.0))}
    assert sizes == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(20))
def test_the_width_of_a_column_is_its_high_end_less_its_low_end_whichever_others_are_used(seed):
    """Places among the columns in use are not columns: here the two are never the same."""
    rng = np.random.default_rng(seed)
    roles = {f"text{k}": Text(int(rng.integers(1, 40))) for k in range(2)}
    roles |= {f"number{k}": Number(*np.sort(rng.normal(0, 50, 2)).tolist()) for k in range(5)}
    order = rng.permutation(list(roles)).tolist()
    schema = Schema({"y": Target(["no", "yes"]), **{name: roles[name] for name in order}})
    space = FeatureSpace(schema)
    model = table_model(np.zeros(space.size), schema)
    ends = [bound if np.ndim(bound) else (0.0, bound) for bound in space.bounds.with_pairs()]
    widths = np.array([high - low for low, high in ends])
    used = np.flatnonzero(rng.random(space.size) < 0.4)
    assert widths_of(model, used).tolist() == pytest.approx(widths[used].tolist())
    twice = rng.permutation(np.repeat(used, 2))  # as coefficients of several classes
    assert widths_of(model, twice).tolist() == pytest.approx(widths[twice].tolist())
    dense = [bound if np.ndim(bound) else float(bound) for bound in space.bounds.with_pairs()]
    listed = refitted(table_model(np.ones(space.size), schema, x_bound=dense))
    assert widths_of(listed, used).tolist() == pytest.approx(widths[used].tolist())


def test_numbers_beyond_all_reason_are_drawn_all_the_same():
    weights = np.zeros(SPACE.size)
    weights[:6] = [1e308, -1e308, 1e-320, 1e200, 5e-324, 1.0]
    page = Page(importance_section(table_model(weights)))
    assert "inf" not in page.text_of("columns") and "nan" not in page.text_of("columns")


def test_streams_have_columns_too():
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = np.array(list("abc"))[np.arange(40) % 3]
    stream = PrivateOnlineClassifier(classes=list("abc"), window=20).fit(X, y)
    sizes = {one.column: one.size for one in importances(stream)}
    assert sizes == pytest.approx(
        {f"column {k}": size for k, size in enumerate(np.linalg.norm(stream.coef_, axis=0))}
    )


def test_hostile_columns_stay_text():
    names = [name for name in HOSTILE if "\ud800" not in name]  # which no schema takes
    plan = TablePlan(
        target="sick",
        bounds={names[0]: (0.0, 1.0)},
        hashed=dict.fromkeys(names[1:], 2),
        classes=("no", "yes"),
    ).schema()
    page = Page(render(table_model(np.ones(FeatureSpace(plan).size), plan)))
    text = page.text_of("columns")
    for name in names:
        assert name in text
    assert len(page.all("script")) == 1 and not page.all("img")


def test_at_most_so_many_columns_are_listed():
    plan = TablePlan(
        target="sick",
        hashed={f"c{k}": 2 for k in range(MOST + 20)},
        classes=("no", "yes"),
    ).schema()
    model = table_model(np.ones(FeatureSpace(plan).size), plan)
    assert len(importances(model)) == MOST
