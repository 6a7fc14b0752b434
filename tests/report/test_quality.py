"""What is said of a score: beside the trivial answer, and how the curve over epsilon was made."""

import math
import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplasso import PrivateLassoClassifier, PrivateLassoRegressor
from dplasso.report import Curve, Evaluation, evaluate, examine, render

RNG = np.random.default_rng(0)
X = RNG.uniform(-1.0, 1.0, (400, 5))
POINTS = ((0.1, 0.55, 0.5, 0.6), (1.0, 0.7, 0.65, 0.75), (math.inf, 0.9, 0.85, 0.95))


def classifier(classes=(0, 1), epsilon=2.0, **options):
    options = {"max_iter": 30, "radius": 5.0} | options
    y = np.asarray(classes)[np.digitize(X[:, 0], [0.0, 0.5][: len(classes) - 1])]
    return PrivateLassoClassifier(epsilon, classes=classes, **options).fit(X, y)


def counted(confusion):
    """An evaluation of which nothing but the counts is known."""
    counts = np.asarray(confusion)
    score = float(np.trace(counts) / counts.sum())
    return Evaluation(int(counts.sum()), "Accuracy", score, confusion=tuple(map(tuple, confusion)))


def words(html, section="quality"):
    (found,) = re.findall(rf'<section id="{section}".*?</section>', html, re.DOTALL)
    return unescape(re.sub(r"<[^>]+>", " ", found))


@given(
    st.integers(2, 5).flatmap(
        lambda k: st.lists(
            st.lists(st.integers(0, 1000), min_size=k, max_size=k), min_size=k, max_size=k
        )
    )
)
def test_the_commonest_class_is_counted_and_the_verdict_follows(confusion):
    counts = np.asarray(confusion)
    counts[0, 0] += 1
    found = counted(counts.tolist())
    assert found.trivial == counts.sum(axis=1).max() / counts.sum()
    assert found.verdict.startswith("no better") == (found.score <= found.trivial)
    # A clear lead stays clear with ten times as many rows of the same kind.
    if found.verdict.startswith("better"):
        assert counted((10 * counts).tolist()).verdict == found.verdict


@pytest.mark.parametrize(
    ("confusion", "verdict"),
    [
        ([[90, 0], [10, 0]], "no better"),  # it is the trivial answer
        ([[85, 5], [5, 5]], "no better"),  # as good by other means
        ([[88, 2], [5, 5]], "not clearly better"),
        ([[900, 0], [50, 50]], "better"),
        ([[0, 9, 0], [0, 80, 0], [0, 10, 1]], "not clearly better"),
        ([[40, 0, 0], [0, 50, 0], [0, 0, 10]], "better"),
    ],
)
def test_verdicts(confusion, verdict):
    assert re.match(
        f"{verdict} than always answering the most common class", counted(confusion).verdict
    )


def test_a_model_no_better_than_the_majority_is_said_to_be_so():
    skewed = (np.arange(400) % 10 == 0).astype(int)
    model = PrivateLassoClassifier(0.1, classes=[0, 1], max_iter=3, radius=1e-3).fit(X, skewed)
    model.intercept_[:] = -1.0  # says 0 whatever the row
    html = render(model, evaluation=evaluate(model, X, skewed))
    text = words(html)
    header = html.partition("</header>")[0]
    assert "Accuracy: no better than always answering the most common class." in header
    assert "<dd>0.9000<small>always answering the most common class: 0.9000" in header
    assert "The model is no better than always answering the most common class." in text
    assert re.search(r"Always answering the most common class\s+0\.9000\s", text)
    assert "guessing has an area of 0.5" in text


def test_a_regressor_is_held_against_the_mean():
    model = PrivateLassoRegressor(5.0, max_iter=30, radius=5.0).fit(X, X[:, 0])
    flat = evaluate(model, X, -X[:, 0])
    assert flat.score < 0 == flat.trivial
    assert flat.verdict == "no better than always answering the mean of these labels"
    good = evaluate(model, X, model.predict(X))
    assert good.verdict == "better than always answering the mean of these labels"
    assert "The model is no better" in words(render(model, evaluation=flat))


def test_where_nothing_was_counted_nothing_is_claimed():
    found = Evaluation(10, "Accuracy", 0.5)
    assert (found.trivial, found.verdict) == (None, "")


@pytest.mark.parametrize("repeats", [1, 5])
def test_the_curve_says_how_it_was_made_and_that_it_is_of_other_models(repeats):
    model = classifier(n_rows=1000)
    found = evaluate(model, X, model.predict(X), curve=Curve(POINTS, 250, 150, repeats))
    text = words(render(model, evaluation=found))
    assert "not of this model" in text
    assert "250 public rows and scored on 150 others" in text
    assert ("done once" if repeats == 1 else "done 5 times") in text
    assert "this model had 1,000 rows, 4 times as many" in text
    undeclared = render(classifier(loss="hinge"), evaluation=found)  # does not use it
    assert "times as many" not in words(undeclared)


@pytest.mark.parametrize("epsilon", [0.02, 2.0, 500.0])
def test_model_and_trivial_answer_are_drawn_where_they_are(epsilon):
    model = classifier(epsilon=epsilon)
    y = (X[:, 0] > 0.2).astype(int)
    found = evaluate(model, X, y, curve=Curve(POINTS, 250, 150, 5))
    html = render(model, evaluation=found)
    (chart,) = re.findall(r'<figure id="curve".*?</figure>', html, re.DOTALL)

    def level(y_text, height):
        """The score at a height, by two ticks of the axis."""
        pairs = re.findall(r'<text x="42" y="([\d.]+)"[^>]*>([\d.]+)</text>', chart)
        (y0, v0), (y1, v1) = (tuple(map(float, pair)) for pair in (pairs[0], pairs[-1]))
        return v0 + (height - y0) * (v1 - v0) / (y1 - y0)

    ((x, height),) = re.findall(r'd="M([\d.]+),([\d.]+)m[^"]*" class="diamond"', chart)
    assert level(chart, float(height)) == pytest.approx(found.score, abs=2e-3)
    assert 48 < float(x) < 346
    ((height,),) = [re.findall(r'd="M48.0,([\d.]+)L[^"]*" class="line line-trivial"', chart)]
    assert level(chart, float(height)) == pytest.approx(found.trivial, abs=2e-3)
    assert len(re.findall('class="whisker"', chart)) == 2  # finite epsilons
    text = words(html)
    for said in ("this model, on all 400 public rows", "without privacy", "always answering"):
        assert said in text


@pytest.mark.parametrize(
    ("measure", "own", "trivial", "called"),
    [
        ("Area under the ROC", "auc", lambda found: 0.5, "guessing"),
        ("Log-loss", "log_loss", lambda found: found.trivial_log_loss, "shares of the classes"),
    ],
)
def test_a_curve_of_another_score_holds_the_model_against_that_score(measure, own, trivial, called):
    model = classifier()
    curve = Curve(POINTS, 250, 150, 5, measure=measure)
    found = evaluate(model, X, (X[:, 0] > 0.2).astype(int), curve=curve)
    text = words(render(model, evaluation=found))
    assert f"{measure} at other epsilons" in text and "Accuracy says little" in text
    assert re.search(rf"This model: 2\s+{getattr(found, own):.4f}\s", text)
    assert f"{trivial(found):.4f}" in text and called in text
    assert ("Lower is better" in text) == (measure == "Log-loss")


def test_without_privacy_the_model_is_in_the_table_only():
    model = classifier(epsilon=math.inf)
    found = evaluate(model, X, model.predict(X), curve=Curve(POINTS, 250, 150, 5))
    html = render(model, evaluation=found)
    assert 'class="diamond"' not in html and "This model: ∞" in words(html)


def test_a_curve_that_is_left_out_says_why():
    model = classifier()
    curve = Curve((), 20, 10, 5, "there are <few> rows")
    html = render(model, evaluation=evaluate(model, X, model.predict(X), curve=curve))
    assert "No curve is drawn: there are <few> rows." in words(html)
    assert 'id="curve"' not in html


@pytest.mark.parametrize(
    ("confusion", "said"),
    [
        (((95, 0), (5, 0)), "better than the shares of the classes by log-loss, not by accuracy"),
        (
            ((94, 1), (3, 2)),
            "better than the shares of the classes by log-loss, not clearly by accuracy",
        ),
    ],
)
def test_probabilities_that_tell_are_praised_by_their_own_score(confusion, said):
    found = replace(
        counted(confusion), probabilities_tell=True, log_loss=0.1, classes=("no", "yes")
    )
    assert found.verdict == said and not found.poor
    shown = words(render(classifier(), evaluation=found))
    assert f"The model is {said}." in shown and "Accuracy: better" not in shown


@pytest.mark.parametrize(("rare", "first"), [(60, "Area under the ROC"), (120, "Accuracy")])
def test_the_area_comes_first_where_one_class_is_common(rare, first):
    model = classifier()
    y = (np.argsort(np.argsort(-X[:, 0])) < rare).astype(int)
    top = render(model, evaluation=evaluate(model, X, y)).partition("</header>")[0]
    places = {name: top.find(name) for name in ("Area under the ROC", "Accuracy")}
    assert min((place, name) for name, place in places.items() if place >= 0)[1] == first
    assert ("guessing: 0.5" in top) == (first == "Area under the ROC")


@pytest.mark.parametrize(("shift", "short"), [(0.04, "a little too low"), (0.0, "close")])
def test_numbers_that_are_too_low_everywhere_are_not_called_close(shift, short):
    model = PrivateLassoRegressor(100.0, max_iter=30, radius=5.0).fit(X, X[:, 0])
    noise = np.where(np.argsort(np.argsort(model.predict(X))) % 2, 0.02, -0.02)
    html = render(model, evaluation=examine(model, X, model.predict(X) + noise + shift))
    told = " ".join(words(html).split())
    assert f"Calibration: {short}. Predictions are too" in told
    assert ("in every tenth of the rows" in told) == (short != "close")
