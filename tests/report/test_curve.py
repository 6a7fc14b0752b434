"""The curve over epsilon: fresh fits on public rows, scored on rows they have not seen."""

import math
import re

import numpy as np
import pandas as pd
import pytest

from dplasso import PrivateLassoClassifier, PrivateLassoRegressor, Schema, read_rows
from dplasso.report import Curve, accuracy_curve, curve_fits, evaluate, examine, render
from dplasso.schema import Number, Person, Target


def data(rows=900):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (rows, 6))
    return X, (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)


class Refuses:
    def charge(self, event, *, delta, neighboring, label):
        raise AssertionError("public rows cost nothing")


def test_more_privacy_is_less_accuracy_and_costs_nothing():
    X, y = data()
    model = PrivateLassoClassifier(5.0, classes=[0, 1], n_rows=900).fit(X, y)
    model.accountant = Refuses()
    before = model.vertices_.copy()
    found = accuracy_curve(model, X, y, epsilons=(0.01, 10.0, math.inf))
    curve = found.points
    assert (found.fitted_rows, found.scored_rows, found.repeats) == (600, 300, 5)
    assert not found.left_out
    assert [point[0] for point in curve] == [0.01, 10.0, math.inf]
    assert curve[0][1] < curve[1][1] and curve[2][1] > 0.95
    for _, mean, least, most in curve:
        assert 0.0 <= least <= mean <= most <= 1.0
    np.testing.assert_array_equal(model.vertices_, before)


def test_bounds_by_name_and_numbers_to_predict():
    X, y = data()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = PrivateLassoRegressor(5.0, x_bound=dict.fromkeys("abcdef", 1.0), n_rows=900)
    ((_, mean, _, _),) = accuracy_curve(model.fit(frame, y), X, y, epsilons=(math.inf,)).points
    assert mean == pytest.approx(0.6, abs=0.2)


def test_the_models_own_epsilon_is_among_the_others():
    X, y = data()
    model = PrivateLassoClassifier(7.0, classes=[0, 1], n_rows=900).fit(X, y)
    found = accuracy_curve(model, X, y, fits=1)
    assert [point[0] for point in found.points] == [0.1, 0.3, 1.0, 3.0, 7.0, 10.0, math.inf]
    assert found.repeats == 1


@pytest.mark.parametrize(
    ("rows", "declared", "why"),
    [
        (297, 297, "fewer than 100"),
        (300, 2001, "fewer than a tenth of the 2,001"),
        (300, 2000, ""),
        (300, None, ""),
    ],
)
def test_too_few_rows_give_a_reason_and_no_fit(rows, declared, why, monkeypatch):
    X, y = data()
    given = {"radius": 5.0, "max_iter": 20, "n_rows": declared}
    model = PrivateLassoClassifier(5.0, classes=[0, 1], **given).fit(X, y)
    fits = []
    monkeypatch.setattr(curve_fits, "_scores", lambda *_: fits.append(1) or {"": float(len(fits))})
    found = accuracy_curve(model, X[:rows], y[:rows])
    assert why in found.left_out and bool(found.left_out) == bool(why)
    assert bool(found.points) == bool(fits) == (not why)


@pytest.mark.parametrize(("by_split", "by_epsilon"), [(0.1, 0.001), (0.001, 0.1)])
def test_where_chance_does_more_than_epsilon_there_is_no_curve(by_split, by_epsilon, monkeypatch):
    def score(fresh, X, labels, split):
        return {"": 0.5 + by_split * split.number + by_epsilon * math.log10(fresh.epsilon)}

    X, y = data()
    model = PrivateLassoClassifier(5.0, classes=[0, 1], n_rows=900).fit(X, y)
    monkeypatch.setattr(curve_fits, "_scores", score)
    found = accuracy_curve(model, X, y, epsilons=(1.0, 3.0, 10.0))
    chance = by_split > by_epsilon
    assert (found.points == ()) == chance == ("cannot tell epsilons apart" in found.left_out)


def test_unbalanced_classes_are_scored_by_the_area_under_the_roc():
    X, _ = data()
    rare = (X[:, 0] + 0.2 * X[:, 1] > 0.95).astype(int)
    assert 0.0 < rare.mean() < 0.1
    model = PrivateLassoClassifier(5.0, classes=[0, 1], n_rows=900, radius=20.0).fit(X, rare)
    found = accuracy_curve(model, X, rare, epsilons=(0.01, 50.0, math.inf), fits=3)
    assert found.measure == "Area under the ROC" and not found.left_out
    assert found.points[-1][1] > 0.9


@pytest.mark.parametrize(
    ("clear", "share", "chosen"),
    [
        ({"", "Area under the ROC", "Log-loss"}, 0.5, ""),
        ({"", "Area under the ROC", "Log-loss"}, 0.2, "Area under the ROC"),
        ({"", "Log-loss"}, 0.2, "Log-loss"),
        ({""}, 0.2, ""),
        ({"Area under the ROC", "Log-loss"}, 0.5, "Area under the ROC"),
        ({"Log-loss"}, 0.5, "Log-loss"),
    ],
)
def test_the_first_measure_that_tells_epsilons_apart_is_drawn(clear, share, chosen, monkeypatch):
    def scores(fresh, X, labels, split):
        measures = ("", "Area under the ROC", "Log-loss")
        return {
            name: 0.1 * math.log10(fresh.epsilon) + (0.0 if name in clear else split.number)
            for name in measures
        }

    X, _ = data()
    y = (np.arange(900) < share * 900).astype(int)
    model = PrivateLassoClassifier(5.0, classes=[0, 1], n_rows=900).fit(X, y)
    monkeypatch.setattr(curve_fits, "_scores", scores)
    found = accuracy_curve(model, X, y, epsilons=(1.0, 10.0))
    assert found.measure == chosen and len(found.points) == 2


def test_models_without_probabilities_are_scored_by_accuracy():
    X, _ = data()
    rare = (X[:, 0] > 0.8).astype(int)
    known = {"classes": [0, 1], "n_rows": 900, "loss": "hinge", "radius": 20.0}
    model = PrivateLassoClassifier(5.0, **known).fit(X, rare)
    assert accuracy_curve(model, X, rare, epsilons=(0.05, math.inf), fits=2).measure == ""


def test_points_are_checked():
    with pytest.raises(ValueError, match="low <= mean <= high"):
        Curve(((1.0, 0.5, 0.6, 0.7),), 100, 100, 1)
    with pytest.raises(ValueError, match="epsilon above 0"):
        Curve(((0.0, 0.5, 0.5, 0.5),), 100, 100, 1)


def visits(**more):
    """A model of people, 6 visits each, with its rows, labels and people."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (1200, 3))
    y, people = (X[:, 0] > 0).astype(int), np.arange(1200) % 200
    public = {"classes": [0, 1], "x_bound": 1.0, "n_rows": 1200, "n_people": 200, **more}
    model = PrivateLassoClassifier(2.0, **public, rows_per_person=2, person="patient_id")
    return model.fit(X, y, groups=people), X, y, people


def shown(model, X, y, curve):
    page = render(model, evaluation=evaluate(model, X, y, curve=curve))
    return " ".join(re.sub("<[^>]*>", "", page).split())


def test_a_model_that_protects_people_gets_a_curve_of_people(monkeypatch):
    model, X, y, people = visits()
    fits = []

    class Noted(PrivateLassoClassifier):
        def fit(self, X, y, groups=None):
            super().fit(X, y, groups=groups)
            fits.append((self.privacy_, set(groups.tolist()), len(X)))
            return self

    monkeypatch.setattr(curve_fits, "clone", lambda model: Noted(**model.get_params()))
    found = accuracy_curve(model, X, y, groups=people, epsilons=[0.01, 100.0], fits=2)
    assert [point[0] for point in found.points] == [0.01, 100.0]
    assert (found.fitted_people, found.fitted_rows, found.scored_rows) == (133, 798, 402)
    assert len(fits) == 4
    for privacy, fitted, rows in fits:
        assert privacy["unit"] == "person: patient_id" and rows == 6 * len(fitted) == 798
        facts = {name: privacy["public"][name]["value"] for name in ("n_people", "rows_per_person")}
        assert facts == {"n_people": 133, "rows_per_person": 2}
    words = shown(model, X, y, found)
    assert "fitted at one epsilon on 133 people with about 798 public rows" in words
    assert "this model had 200 people, 1.5 times as many: more people make privacy" in words
    assert "The curve is of rows" not in words


def test_people_make_privacy_dearer_in_the_curve():
    """With 20 visits each, 60 people are few, though their rows are many."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (1200, 3))
    y = (X[:, 0] > 0).astype(int)
    public = {"classes": [0, 1], "x_bound": 1.0, "n_people": 60}
    model = PrivateLassoClassifier(2.0, **public).fit(X, y, groups=np.arange(1200) % 60)
    # With an epsilon so small that rows teach nothing either, both curves are of accuracy.
    of_people, of_rows = (
        accuracy_curve(model, X, y, groups=groups, epsilons=[0.003, 0.3, math.inf], fits=5)
        for groups in (np.arange(1200) % 60, None)
    )
    assert of_people.measure == of_rows.measure == ""
    assert of_people.points[1][1] < of_rows.points[1][1] - 0.1


def test_rows_without_people_give_a_curve_of_rows_that_says_so():
    model, X, y, _ = visits()
    found = accuracy_curve(model, X, y, epsilons=[0.01, 100.0], fits=2)
    assert found.fitted_people is None and found.fitted_rows == 800
    words = shown(model, X, y, found)
    assert "The curve is of rows: the public rows do not say whose they are" in words
    assert "times as many" not in words


def test_too_few_people_give_a_reason_though_their_rows_are_many():
    model, X, y, people = visits(n_people=2000)
    found = accuracy_curve(model, X, y, groups=people, fits=2)
    assert "are 133, fewer than a tenth of the 2,000" in found.left_out and not found.points
    found = accuracy_curve(model, X, y, groups=people % 2, fits=2)
    assert "fewer than 3 people" in found.left_out


def test_a_model_that_protects_rows_keeps_its_curve_of_rows():
    X, y = data()
    model = PrivateLassoClassifier(5.0, classes=[0, 1], n_rows=900).fit(X, y)
    curves = [
        accuracy_curve(model, X, y, groups=groups, epsilons=(math.inf,), fits=2)
        for groups in (None, np.arange(900) % 9)
    ]
    assert curves[0] == curves[1] and curves[1].fitted_people is None


def test_rows_as_they_were_read_bring_their_people():
    rng = np.random.default_rng(0)
    age = rng.uniform(0, 100, 900)
    table = {"id": np.arange(900) // 2, "age": age, "sick": np.where(age > 50, "yes", "no")}
    schema = Schema(
        {"id": Person(), "age": Number(0, 100), "sick": Target(["no", "yes"])}, n_people=450
    )
    rows = read_rows(table, schema=schema)
    model = PrivateLassoClassifier(5.0).fit(rows.described(), rows.y)
    found = accuracy_curve(model, rows.described(), rows.y, epsilons=(0.1, 5.0), fits=2)
    assert found.fitted_people == 300
    assert examine(model, rows.described(), rows.y, curve=found).score > 0.9
