"""What must be said of a model: noise, few rows, a large delta, its day, and classes it misses."""

import math
import re
from dataclasses import replace
from datetime import UTC, datetime
from html import unescape

import numpy as np
import pytest

import dplasso
from dplasso import PrivateLassoClassifier, PrivateLassoRegressor
from dplasso.report import Curve, Evaluation, render
from dplasso.report.cautions import (
    FEW_ROWS,
    few_rows,
    loose_delta,
    noise,
    weakest_signal,
    weakest_signal_of,
)
from dplasso.report.measured import Reliability

X = np.random.default_rng(0).uniform(-1.0, 1.0, (200, 4))
Y = (X[:, 0] > 0).astype(int)


def fitted(cls=PrivateLassoClassifier, labels=Y, **options):
    given = {"epsilon": 1.0, "max_iter": 10, "radius": 2.0, "n_rows": 200}
    if cls is PrivateLassoClassifier:
        given["classes"] = sorted(set(labels.tolist()))
    return cls(**given | options).fit(X, labels)


def text_of(html):
    return " ".join(unescape(re.sub(r"<[^>]+>", "", html)).split())


@pytest.mark.parametrize("labels", [Y, np.arange(200) % 3])
@pytest.mark.parametrize("x_bound", [2.0, np.array([1.0, 2.0, 0.5, 1.5]), np.full(4, 2.0).tolist()])
def test_the_weakest_signal_follows_from_the_statement(labels, x_bound):
    model = fitted(labels=labels, x_bound=x_bound, n_rows=5000)
    theta = model.privacy_["releases"][0]["theta"]
    classes = len(set(labels.tolist()))
    expected = weakest_signal(theta, 2.0, 5000, 4, classes)
    assert weakest_signal_of(model) == pytest.approx(expected, rel=1e-12)


def test_the_weakest_signal_survives_the_file_and_bounds_by_name(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    bounds = {"a": 1.0, "b": 9.0, "c": 1.0, "d": 1.0}
    public = {"classes": [0, 1], "n_rows": 200, "x_bound": bounds}
    model = PrivateLassoClassifier(1.0, solver="frank_wolfe", **public).fit(frame, Y)
    model.save(tmp_path / "model.dpl")
    expected = weakest_signal(model.privacy_["releases"][0]["theta"], 9.0, 200, 4)
    for found in (model, dplasso.load(tmp_path / "model.dpl")):
        assert weakest_signal_of(found) == pytest.approx(expected)


def test_where_there_is_no_such_share_there_is_none():
    assert weakest_signal_of(fitted(PrivateLassoRegressor, labels=X[:, 0])) is None
    assert weakest_signal_of(fitted(epsilon=math.inf)) is None
    assert weakest_signal_of(fitted(n_rows=None, loss="hinge")) is None


def test_few_rows_are_told_with_the_share_that_is_needed():
    model = fitted(epsilon=3.0)
    share = weakest_signal_of(model)
    assert FEW_ROWS < share < 1.0
    assert f"at least {100 * share:.0f} % of all rows" in few_rows(model)
    assert few_rows(model) in text_of(render(model))
    none = fitted(epsilon=0.1)
    assert weakest_signal_of(none) > 1.0 and "no feature" in few_rows(none)
    enough = fitted(n_rows=1_000_000)
    assert few_rows(enough) == "" and "Few rows" not in render(enough)


def test_a_delta_above_one_over_the_rows_is_told():
    loose, sound = fitted(delta=0.02), fitted(delta=0.005)
    assert "well below 1 / rows" in loose_delta(loose) and "about 4 of them" in loose_delta(loose)
    assert loose_delta(loose) in text_of(render(loose))
    assert loose_delta(sound) == loose_delta(fitted(delta=0.02, n_rows=None, loss="hinge")) == ""
    assert loose_delta(fitted(delta=0.02, epsilon=math.inf)) == ""
    assert "A large delta" not in render(sound)


def test_coefficients_are_said_to_be_noisy_unless_they_are_not():
    private, plain = fitted(), fitted(epsilon=math.inf)
    assert "a second fit of the same rows would give others" in noise(private)
    assert noise(private) in text_of(render(private))
    assert "Large ones may be chance, too, where few rows have the feature" in noise(private)
    assert noise(plain) == "" and "with noise" not in render(plain)


def test_the_day_of_the_fit_is_kept_and_shown(tmp_path):
    before = datetime.now(UTC).date().isoformat()
    model = fitted()
    after = datetime.now(UTC).date().isoformat()
    assert model.privacy_["date"] in (before, after)
    model.privacy_["date"] = "2024-02-29"
    model.save(tmp_path / "model.dpl")
    text = text_of(render(dplasso.load(tmp_path / "model.dpl")))
    assert "Fitted on 2024-02-29; page written on 2" in text
    assert re.search(r"Fitted with dplasso \S+ on 2024-02-29; page written with", text)


@pytest.mark.parametrize("day", [None, "x" * 500, 7])
def test_models_without_a_day_have_a_page(tmp_path, day):
    model = fitted()
    del model.privacy_["date"]
    if day is not None:
        model.privacy_["date"] = day
    model.save(tmp_path / "old.dpl")
    text = text_of(render(dplasso.load(tmp_path / "old.dpl")))
    assert "Fitted on an unknown day; page written on 2" in text and "xxx" not in text


def test_what_became_of_every_class_is_told():
    confusion = ((2582, 11), (1361, 46))
    found = Evaluation(4000, "Accuracy", 0.657, classes=("no", "yes"), confusion=confusion)
    assert found.by_class == {"no": (2593, 3943, 2582), "yes": (1407, 57, 46)}
    text = text_of(render(fitted(), evaluation=found))
    assert "It answers yes for 57 of 4,000 rows, and finds 46 of the 1,407 that are." in text
    many = tuple(tuple(int(i == j) for i in range(11)) for j in range(11))
    names = tuple(f"class {k}" for k in range(11))
    more = Evaluation(11, "Accuracy", 1.0, classes=names, confusion=many)
    assert "It answers" not in render(fitted(), evaluation=more)
    assert Evaluation(9, "R²", 0.5).by_class == {}


def test_calibration_shows_its_rows_and_draws_no_point_of_few():
    points = ((0.1, 0.2, 500), (0.4, 0.5, 300), (0.9, 0.0, 3))
    html = render(
        fitted(), evaluation=Evaluation(803, "Accuracy", 0.5, reliability=Reliability(points))
    )
    (chart,) = re.findall(r'<figure id="calibration".*?</figure>', html, re.DOTALL)
    assert chart.count('class="dot"') == 2 and "0.9" not in chart
    (table,) = re.findall(r"<caption>Calibration.*?</table>", html, re.DOTALL)
    assert re.findall(r"<td>([\d,]+)</td></tr>", table) == ["500", "300", "3"]
    assert "not drawn: fewer than 20 rows" in table
    few = Evaluation(803, "Accuracy", 0.5, reliability=Reliability(points[1:]))
    assert 'id="calibration"' not in render(fitted(), evaluation=few)


def test_a_score_has_the_same_digits_wherever_it_stands():
    confusion = ((2593, 0), (1407, 0))  # 0.64825 are of the commonest class
    curve = Curve(((0.1, 0.5, 0.5, 0.5), (1.0, 0.6, 0.6, 0.6)), 200, 100, 5)
    found = Evaluation(4000, "Accuracy", 0.64825, confusion=confusion, classes=("no", "yes"))
    html = render(fitted(), evaluation=replace(found, curve=curve))
    told = html.partition("</header>")[0] + html.partition('id="quality"')[2]
    told = told.partition("</section>")[0]
    # The score and that of the commonest class: on a card, among the scores, and in the table.
    assert re.findall(r"\b0\.648\d*", told) == ["0.6482"] * 6


def test_a_large_delta_is_told_in_people_where_people_are_protected():
    X = np.random.default_rng(0).uniform(-1, 1, (60, 2))
    known = {"classes": [0, 1], "x_bound": 1.0, "n_rows": 24_000, "n_people": 6_000}
    model = PrivateLassoClassifier(1.0, delta=0.1, **known, rows_per_person=2)
    said = loose_delta(model.fit(X, X[:, 0] > 0, groups=np.arange(60) // 4))
    assert "well below 1 / people" in said and "with 6,000 people" in said
    assert "all rows of about 600 of them" in said
