"""Columns with bounds of their own: radius, 1-norm, coefficients and bounds in words that agree."""

import re
from html import unescape

import numpy as np
import pytest
import scipy.sparse as sp

import dplasso
from dplasso import PrivateLassoClassifier, PrivateLassoRegressor
from dplasso.reading.plans import TablePlan
from dplasso.report import accuracy_curve, evaluate, render
from dplasso.report.coefficients import largest
from dplasso.report.growth import path
from dplasso.report.importance import importances
from dplasso.report.scale import norm_of, widths_of
from dplasso.schema import FeatureSpace
from refitted import refitted

RNG = np.random.default_rng(0)
BOUNDS = np.array([100.0, 1.0, 0.5, 20.0])
X = RNG.uniform(-1.0, 1.0, (300, 4)) * BOUNDS
Y = np.sign(X[:, 0] / 100 + X[:, 1])
PLAN = TablePlan(
    target="sick",
    bounds={"age": (0.0, 120.0), "weight": (-5.0, 2.0)},
    hashed={"town": 4, "note": 8},
    text=("note",),
    ignore=("id",),
    missing=("age", "weight"),
).schema()


def fitted(cls=PrivateLassoClassifier, x_bound=BOUNDS, **options):
    options = {"epsilon": 50.0, "max_iter": 25, "radius": 3.0} | options
    if cls is PrivateLassoClassifier:
        options.setdefault("classes", [-1.0, 1.0])
    return cls(x_bound=x_bound, **options).fit(X, Y)


def of_a_table(**weights):
    """A model as the command line makes it from a table, with weights of our choice."""
    space = FeatureSpace(PLAN)
    rows = sp.csr_array(np.ones((4, space.size)))
    model = PrivateLassoClassifier(
        1.0, classes=[0, 1], max_iter=1, radius=1.0, x_bound=space.bounds
    ).fit(rows, [0, 1, 0, 1])
    names = list(space.names)
    dense = np.zeros((1, space.size))
    for name, weight in weights.items():
        dense[0, names.index(name)] = weight
    refitted(model, weights=sp.csr_array(dense), released=np.array([[space.size, 1]]))
    model.feature_names_in_ = np.array(names, dtype=object)
    model.table_plan_ = PLAN.to_dict()
    return model


def test_the_width_of_a_column_does_not_depend_on_which_others_are_asked_for():
    model = of_a_table(age=1.0)
    columns = np.arange(model.n_features_in_)
    widths = widths_of(model, columns)
    for first in columns[1:]:
        asked = columns[first:]
        assert np.array_equal(widths_of(model, asked), widths[asked])
    for left_out in columns:
        asked = np.delete(columns, left_out)
        assert np.array_equal(widths_of(model, asked), widths[asked])


def words(html, section):
    (found,) = re.findall(rf'<section id="{section}".*?</section>', html, re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", found)).split())


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("cls", [PrivateLassoClassifier, PrivateLassoRegressor])
def test_the_norm_is_the_one_that_the_radius_bounds(cls, intercept):
    for x_bound in (BOUNDS, 2.5):
        model = fitted(cls, x_bound, fit_intercept=intercept)
        weights = np.zeros(5)  # of the walk
        for t, (column, sign) in enumerate(model.vertices_, start=1):
            weights *= 1 - 2 / (t + 2)
            weights[column] += sign * 3.0 * 2 / (t + 2)
        assert norm_of(model) == pytest.approx(np.abs(weights).sum(), rel=1e-5)
        assert norm_of(model) <= 3.0 * (1 + 1e-6)
        told = re.search(
            r"add up to ([\d.]+); the radius allows 3\.", words(render(model), "coefficients")
        )
        assert float(told[1]) == pytest.approx(norm_of(model), rel=1e-3)


def test_statement_and_page_say_what_the_radius_is_of():
    said = "of coefficients times their column's bound over the largest bound"
    model = fitted()
    assert said in model.privacy_["bounds"]["radius"]["of"]
    assert f"radius = 3 (given; {said}" in str(model.privacy_)
    html = render(model)
    assert words(html, "coefficients").count("over the largest bound, 100.") == 1
    # There, among the facts taken as public, and in the exact statement.
    assert html.count("the largest bound") == 3
    same = fitted(x_bound=np.full(4, 7.0))
    assert "of" not in same.privacy_["bounds"]["radius"]
    assert said not in str(same.privacy_) and "the largest bound" not in render(same)
    assert "counts over the bound of entries, 7." in words(render(same), "coefficients")


def test_a_model_of_earlier_code_reads_and_says_the_same(tmp_path):
    model = fitted()
    expected = str(model.privacy_)
    del model.privacy_["bounds"]["radius"]["of"]  # which it did not have
    model.save(tmp_path / "old.dpl")
    old = dplasso.load(tmp_path / "old.dpl")
    assert old.privacy_["bounds"]["radius"] == {"value": 3.0, "source": "given"}
    assert str(old.privacy_) == expected
    found = evaluate(old, X, Y, curve=accuracy_curve(old, X, Y, epsilons=(1.0,), fits=1))
    page = render(old, model_file=tmp_path / "old.dpl", evaluation=found)
    assert "over the largest bound" in words(page, "coefficients")


def test_coefficients_go_by_what_they_can_move_and_show_both_numbers():
    model = fitted()
    refitted(model, weights=sp.csr_array([[0.03, 0.8, -2.0, 0.01]]))
    found = largest(model)
    assert [coefficient.column for coefficient in found] == [0, 2, 1, 3]
    assert [coefficient.reach for coefficient in found] == pytest.approx([3.0, -1.0, 0.8, 0.2])
    text = words(render(model), "coefficients")
    assert "Times width" in text and "how far they can move the margin" in text
    for both in ("3.000 0.03000", "−1.000 −2.000", "0.8000 0.8000", "0.2000 0.01000"):
        assert f"{both} per unit" in text
    plain = words(render(fitted(x_bound=100.0)), "coefficients")
    assert "Times" not in plain and "how far" not in plain and "Value" in plain


def test_bounds_of_columns_are_listed_with_those_that_share_one():
    names = {"a": 100.0, "b": 1.0, "c": 1.0, "d": 20.0}
    model = fitted(x_bound=[100.0, 1.0, 1.0, 20.0])
    text = words(render(model), "public")
    assert "column 0 at most 100 column 3 at most 20 column 1 , column 2 at most 1 " in text
    model.feature_names_in_ = np.array(list(names), dtype=object)
    model.set_params(x_bound=names)
    assert "a at most 100 d at most 20 b , c at most 1 " in words(render(model), "public")


@pytest.mark.parametrize("solver", ["table", "frank_wolfe"])
def test_ranges_of_columns_are_listed_with_both_ends(solver):
    x_bound = [(-1.0, 100.0), 100.0, (-1.0, 100.0), (-100.0, 100.0)]
    options = {"max_iter": 25, "radius": 3.0} if solver == "frank_wolfe" else {}
    model = PrivateLassoClassifier(50.0, classes=[-1, 1], x_bound=x_bound, solver=solver, **options)
    text = words(render(model.fit(X, Y)), "public")
    said = ("column 0 , column 2 −1 to 100", "column 1 at most 100", "column 3 −100 to 100")
    assert all(each in text for each in said)
    model.set_params(x_bound=[(-1.0, 1.0)] * 4)
    assert "column 0" not in words(render(model.fit(X, Y)), "public")


def test_many_bounds_are_folded_and_cut():
    columns = 1000
    model = PrivateLassoClassifier(
        1.0, classes=[0, 1], max_iter=2, radius=1.0, x_bound=np.arange(1.0, columns + 1)
    ).fit(sp.csr_array(np.eye(4, columns)), [0, 1, 0, 1])
    html = render(model)
    folds = re.findall(r"<details>.*?</details>", html, re.DOTALL)
    (folded,) = (fold for fold in folds if "by falling bound" in fold)
    assert folded.count("<tr>") == 201 and "The first 200 are listed" in folded
    assert "column 999" in folded and "column 799" not in folded


def test_a_tables_columns_are_listed_as_they_were_declared():
    model = of_a_table(age=0.1)
    text = words(render(model), "public")
    roles = list(FeatureSpace(PLAN).roles)
    assert {name for name, *_ in roles} == {"sick", "age", "weight", "town", "note", "id"}
    for name, role, features in roles:
        assert f"{name} {role} {features}" in text
    assert "follows from the columns" in text and "shape of X" not in text
    assert "Classes classes 0, 1 " in text


def test_what_is_predicted_is_named_where_it_is_known():
    model = of_a_table(age=1.0)
    html = render(model)
    (header,) = re.findall(r"<header>.*?</header>", html, re.DOTALL)
    told = " ".join(unescape(re.sub(r"<[^>]+>", "", header)).split())
    assert told.startswith("Private sparse classifier of sick") and "predicts sick: 0 or 1." in told
    assert "<title>Private sparse classifier of sick</title>" in html
    assert "speaks for sick = 1" in re.sub(r"<[^>]+>", "", html)
    del model.table_plan_
    assert "predicts which of 2 classes: " in render(model) and "sick" not in render(model)


def test_hashed_and_missing_features_are_explained_where_they_occur():
    given = {"age": 1.0, "note#5": 0.5, "note#2": 0.7, "town#3": 0.1, "weight is missing": 2.0}
    text = words(render(of_a_table(**given)), "coefficients")
    assert (
        "note#2 is bucket 2 of column note , whose words are hashed into 8 buckets; "
        "several words may share a bucket."
    ) in text
    assert "town#3 is bucket 3 of column town , whose categories are hashed into 4" in text
    assert "weight is missing is 1 in rows whose cell of column weight is blank" in text
    assert "note#5 is bucket" not in text  # one example is enough
    assert "dplasso inspect model.dpl --bucket note=entry ." in text
    plain = words(render(of_a_table(age=1.0)), "coefficients")
    assert "bucket" not in plain and "blank" not in plain


def test_names_that_no_plan_declares_are_not_explained():
    model = of_a_table(**{"note#5": 0.5, "age is missing": 1.0})
    del model.table_plan_
    text = words(render(model), "coefficients")
    assert "note#5" in text and "bucket" not in text and "blank" not in text
    model.table_plan_ = {"zero_based": True}
    assert "bucket" not in words(render(model), "coefficients")


def test_a_number_may_be_called_as_a_bucket_is():
    model = of_a_table(**{"note#5": 0.5})
    model.table_plan_ = TablePlan("sick", bounds={"note#5": (0.0, 9.0)}).schema().to_dict()
    assert "bucket" not in words(render(model), "coefficients")


def test_coefficients_of_centred_columns_count_by_their_range():
    rows = RNG.uniform(70.0, 90.0, (300, 4))
    model = PrivateLassoClassifier(
        50.0,
        classes=[0, 1],
        max_iter=25,
        radius=3.0,
        x_bound=[(70.0, 90.0), (0.0, 120.0), (70.0, 90.0), 100.0],
        solver="frank_wolfe",
    ).fit(rows, rows[:, 0] > 80.0)
    assert 0.0 < norm_of(model) <= 3.0 + 1e-9
    assert "centred and scaled by their range" in words(render(model), "coefficients")
    reach = {found.column: found.reach for found in largest(model)}
    assert reach[0] == pytest.approx(model.coef_[0, 0] * 20.0)
    for column in reach:
        # The walk is before the correction's rounding: paths end at what is listed.
        assert path(model, column, 0)[-1] == pytest.approx(reach[column], rel=1e-6)


@pytest.mark.parametrize("solver", ["table", "frank_wolfe"])
def test_a_year_counts_by_the_width_of_its_range_not_by_its_size(solver):
    rows = np.column_stack([RNG.uniform(2000.0, 2010.0, 300), RNG.uniform(-5.0, 5.0, 300)])
    given = {"classes": [0, 1], "x_bound": [(2000.0, 2010.0), (-5.0, 5.0)], "n_rows": 300}
    model = PrivateLassoClassifier(50.0, solver=solver, **given).fit(rows, rows[:, 1] > 0.0)
    refitted(model, weights=sp.csr_array([[0.1, 0.2]]))
    assert [(found.column, found.reach) for found in largest(model)] == [
        (1, pytest.approx(2.0)),
        (0, pytest.approx(1.0)),
    ]
    assert {one.column: one.size for one in importances(model)} == pytest.approx(
        {"column 1": 2.0, "column 0": 1.0}
    )
    assert "Times width" in words(render(model), "coefficients")
