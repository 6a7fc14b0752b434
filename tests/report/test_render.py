"""The page says what the model says, warns where it must, and cannot be made to do more."""

import base64
import hashlib
import json
import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.metrics import confusion_matrix, roc_auc_score
from sklearn.pipeline import make_pipeline

import dplasso
from dplasso import PrivateLassoClassifier, PrivateLassoRegressor
from dplasso.report import Curve, evaluate, facts, render, write_report
from dplasso.report.charts import rounded_out, thinned, ticks, whole_ticks
from dplasso.report.coefficients import FIRST, MOST, largest
from dplasso.report.growth import path, replay
from dplasso.report.guarantee import posterior
from html_pages import HOSTILE, Page
from refitted import refitted

RNG = np.random.Generator(np.random.PCG64(0))
X = RNG.uniform(-1.0, 1.0, (300, 40))
THREE = np.digitize(X[:, 1], [-0.3, 0.3])


def classifier(labels=(0, 1), X=X, **options):
    given = {"epsilon": 5.0, "max_iter": 60, "radius": 10.0, "n_rows": 300, "classes": labels}
    y = np.asarray(labels)[THREE % len(labels)]
    return PrivateLassoClassifier(**given | options).fit(X, y)


def regressor(**options):
    given = {"epsilon": 5.0, "max_iter": 60, "radius": 10.0, "n_rows": 300}
    return PrivateLassoRegressor(**given | options).fit(X, X[:, 0])


MODELS = {
    "two classes": lambda: classifier(),
    "three classes": lambda: classifier(["a", "b", "c"]),
    "regression": lambda: regressor(),
    "bounds by column": lambda: classifier(x_bound=np.linspace(0.2, 2.0, 40)),
    "three, no intercept": lambda: classifier([0, 1, 2], fit_intercept=False, x_bound=0.5),
    "sparsified": lambda: classifier(n_nonzero=3),
    "one round": lambda: classifier(max_iter=1, fit_intercept=False),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return MODELS[request.param]()


def reach_per_unit(model):
    """What a coefficient of 1 is drawn as: its column's bound, where bounds differ."""
    return np.ones(40) if np.ndim(model.x_bound) == 0 else np.asarray(model.x_bound)


def shown(value):
    return f"{value:#.4g}".replace("-", "−")


def test_sections_are_in_order_and_numbers_are_those_of_the_model(model):
    page = Page(render(model))
    # With several classes, a column has several coefficients, and is listed as one.
    columns = ["columns"] if len(model.intercept_) > 1 else []
    assert [s["id"] for s in page.all("section")] == [
        *("guarantee", *columns, "coefficients", "growth", "public", "not-protected", "verify")
    ]
    numbers = [found["text"] for found in page.all("dd")]
    nonzeros = np.count_nonzero(model.coef_)
    assert numbers == ["5", "1e−06", str(nonzeros), str(model.n_iter_), "40"]
    assert page.one("p", class_="statement")["text"] == str(model.privacy_)


def test_every_coefficient_is_in_the_table_with_its_value(model):
    page = Page(render(model))
    dense = np.atleast_2d(model.coef_)
    body = page.one("table", id="bars")["text"]
    for output, column in zip(*np.nonzero(dense), strict=True):
        assert shown(dense[output, column]) in body
        assert f"column {column}" in body
        assert shown(dense[output, column] * reach_per_unit(model)[column]) in body
    listed = [row for row in page.all("tr") if "data-class" in row]
    assert len(listed) == np.count_nonzero(dense)
    reach = dense * reach_per_unit(model)
    assert abs(largest(model, 1)[0].reach) == pytest.approx(np.abs(reach).max(), rel=1e-12)


@pytest.mark.parametrize("name", ["two classes", "bounds by column"])
def test_bars_are_as_long_as_the_coefficients_reach(name):
    model = MODELS[name]()
    found = largest(model)
    edge = rounded_out(0.0, abs(found[0].reach))[1]
    bars = Page(render(model)).all("rect")
    for drawn, coefficient in zip(bars, found, strict=True):
        start, length = float(drawn["x"]), float(drawn["width"])
        reach = 100 * coefficient.value * reach_per_unit(model)[coefficient.column] / edge
        assert (start, start + length) == pytest.approx(sorted((0.0, reach)), abs=0.02)
        assert drawn["class"] == ("down" if reach < 0 else "up")


def test_replayed_rounds_end_where_the_model_is():
    for make in (MODELS["bounds by column"], MODELS["three, no intercept"], MODELS["regression"]):
        model = make()
        dense = np.atleast_2d(model.coef_)
        for output, column in zip(*np.nonzero(dense), strict=True):
            end = path(model, column, output)[-1]
            expected = dense[output, column] * reach_per_unit(model)[column]
            assert end == pytest.approx(expected, rel=1e-9, abs=1e-12)
        assert replay(model).nonzeros[-1] == np.count_nonzero(np.abs(dense) > 1e-12)


def test_replayed_norms_are_those_of_the_walk():
    model = classifier([0, 1, 2], max_iter=40)
    weights, norms, counts = np.zeros((3, 41)), [], []
    for t, (column, sign, output) in enumerate(model.vertices_, start=1):
        weights *= 1 - 2 / (t + 2)
        weights[output, column] += sign * 10.0 * 2 / (t + 2)
        norms.append(np.abs(weights).sum())
        counts.append(np.count_nonzero(np.abs(weights[:, :40]) > 1e-12))
    np.testing.assert_allclose(replay(model).norms, norms, rtol=1e-12)
    np.testing.assert_array_equal(replay(model).nonzeros, counts)


def test_the_slider_tells_the_released_coordinates():
    model = classifier(["a", "b", "c"])
    data = json.loads(Page(render(model)).one("div", id="looker")["data-rounds"])
    assert [row[0] for row in data["rounds"]] == list(range(1, 61))
    for (_, sign, name, *_), vertex in zip(data["rounds"], model.vertices_, strict=True):
        column = "intercept" if vertex[0] == 40 else f"column {vertex[0]}"
        assert (sign, data["names"][name]) == (vertex[1], [column, "abc"[vertex[2]]])


@pytest.mark.parametrize("neighboring", ["add_remove", "replace_one"])
def test_beliefs_are_bounded_by_the_odds(neighboring):
    page = Page(render(classifier(epsilon=2.0, neighboring=neighboring)))
    text = page.text_of("guarantee")
    assert "7.389" in text
    asked = {"add_remove": "whether a certain row", "replace_one": "a certain row says"}
    assert asked[neighboring] in text
    cells = [float(cell["text"].rstrip(" %")) / 100 for cell in page.all("td")[:10]]
    for k, prior in enumerate((0.001, 0.01, 0.1, 0.5, 0.9)):
        odds = prior / (1 - prior)
        least, most = (odds * math.exp(s) / (1 + odds * math.exp(s)) for s in (-2.0, 2.0))
        # To the safe side, by a hundredth of a percent at most.
        assert 0 <= least - cells[2 * k] < 1.0001e-4
        assert 0 <= cells[2 * k + 1] - most < 1.0001e-4


def test_posteriors_do_not_overflow():
    assert posterior(0.5, 1e4) == 1.0 and posterior(0.5, -1e4) == 0.0
    assert "435 digits" in render(classifier(epsilon=1000.0))


def test_without_privacy_it_says_so_first():
    converged, walked = classifier(epsilon=math.inf, max_iter="auto"), regressor(epsilon=math.inf)
    for model in (converged, walked):
        page = Page(render(model))
        (warning,) = page.all("div", class_="callout danger")
        assert warning["text"].startswith("NOT PRIVATE")
        assert "without privacy" in page.one("h1")["text"]
        assert "Before they see" not in page.text_of("guarantee")
        assert "Nothing is protected" in page.text_of("not-protected")
        assert page.all("dd")[0]["text"] == "∞"
    assert "until it converged" in Page(render(converged)).text_of("growth")
    chosen = len(set(walked.vertices_[:, 0]) - {40})
    rounds = json.loads(Page(render(walked)).one("div", id="looker")["data-rounds"])["rounds"]
    assert rounds[-1][3:] == [chosen, None]


@pytest.mark.filterwarnings("ignore::dplasso.PrivacyLeakWarning")
def test_what_spoils_the_guarantee_is_flagged():
    sound = render(classifier())
    assert "NOT SECURE" not in sound and "READ FROM THE DATA" not in sound
    assert "A large epsilon" not in sound
    seeded = Page(render(classifier(random_state=1))).one("div", class_="callout danger")
    assert seeded["text"].startswith("NOT SECURE")
    undeclared = PrivateLassoClassifier(solver="frank_wolfe").fit(X, THREE)
    page = Page(render(undeclared))
    few, warning = page.all("div", class_="callout warning")
    assert few["text"].startswith("Few rows.")
    assert warning["text"].startswith("READ FROM THE DATA: n_rows, classes.")
    flags = page.all("strong", class_="flag")
    assert len(flags) == 2 and all("READ FROM THE DATA" in flag["text"] for flag in flags)
    assert "A large epsilon" in render(classifier(epsilon=20.0))


def test_public_facts_are_listed_with_their_sources():
    model = regressor(y_bound=2.0)
    text = Page(render(model)).text_of("public")
    for name, fact in {**model.privacy_["bounds"], **model.privacy_["public"]}.items():
        assert name in text and facts._SOURCES.get(fact["source"], fact["source"]) in text


def test_hostile_text_stays_text(tmp_path):
    model = classifier(HOSTILE[:3])
    found = evaluate(model, X, np.array(HOSTILE[:3])[THREE])
    model.feature_names_in_ = np.array(HOSTILE + [f"f{k}" for k in range(31)], dtype=object)
    refitted(model, weights=sp.csr_array(np.ones((3, 40))))
    title = "</title><script>alert(0)</script>"
    page = Page(render(model, evaluation=found, title=title))
    assert len(page.all("script")) == 1 and not page.all("img")
    assert page.one("h1")["text"] == title
    listed = page.one("table", id="bars")["text"]
    for name in HOSTILE:
        assert listed.count(name.replace("\ud800", "?")) >= 3
    for element in page.elements:
        assert not any(key.startswith("on") or key == "style" for key in element)
    write_report(tmp_path / "page.html", model)
    assert "half a pair ?" in (tmp_path / "page.html").read_text("utf-8")


def test_the_page_asks_nobody_for_anything(model):
    page = Page(render(model, evaluation=evaluate(model, X, model.predict(X))))
    for element in page.elements:
        for key in ("src", "href", "action", "data", "xlink:href", "srcset"):
            assert element.get(key, "#").startswith("#")
    style = page.one("style")["text"]
    assert "url(" not in style and "@import" not in style
    (policy,) = (e["content"] for e in page.all("meta") if "http-equiv" in e)
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy
    for name in ("style", "script"):
        digest = hashlib.sha256(page.one(name)["text"].encode()).digest()
        assert f"{name}-src 'sha256-{base64.b64encode(digest).decode()}'" in policy


def test_charts_and_tables_have_names(model):
    page = Page(render(model))
    identifiers = [e["id"] for e in page.elements if "id" in e]
    assert len(set(identifiers)) == len(identifiers)
    drawings = page.all("svg", role="img")
    assert len(drawings) == 3
    for drawing in drawings:
        assert page.one("title", id=drawing["aria-labelledby"])["text"]
        assert page.one("desc", id=drawing["aria-describedby"])["text"]
    assert all("aria-hidden" in svg for svg in page.all("svg") if svg.get("role") != "img")
    assert len(page.all("caption")) == len(page.all("table")) >= 4
    assert all("scope" in head for head in page.all("th"))


def test_the_digest_is_that_of_the_file(tmp_path):
    model = classifier()
    file = tmp_path / "it's a model.dpl"
    model.save(file)
    text = Page(render(model, model_file=file)).text_of("verify")
    assert hashlib.sha256(file.read_bytes()).hexdigest() in text
    assert """sha256sum 'it'"'"'s a model.dpl'""" in text
    assert dplasso.__version__ in text
    assert Page(render(dplasso.load(file), model_file=file)).text_of("verify") == text


def test_a_file_of_another_model_is_refused(tmp_path):
    model = classifier()
    classifier([1, 0], max_iter=61).save(tmp_path / "other.dpl")
    with pytest.raises(ValueError, match="holds another model"):
        render(model, model_file=tmp_path / "other.dpl")


def test_the_file_is_replaced_whole(tmp_path, monkeypatch):
    target = tmp_path / "page.html"
    target.write_text("old")
    model = classifier()
    with monkeypatch.context() as patch:
        patch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("no")))
        with pytest.raises(OSError, match="no"):
            write_report(target, model)
    assert target.read_text() == "old" and list(tmp_path.iterdir()) == [target]
    write_report(target, model, title="New")
    assert target.read_text("utf-8") == render(model, title="New")


def test_ten_million_columns_list_at_most_so_many():
    rows = sp.random_array(
        (500, 10_000_000), density=1e-5, rng=np.random.default_rng(0), format="csr"
    )
    model = PrivateLassoClassifier(
        epsilon=1.0, classes=[0, 1], n_rows=500, radius=50.0, max_iter=5000
    ).fit(rows, np.arange(500) % 2)
    text = render(model)
    page = Page(text)
    assert len(text.encode()) < 500_000
    assert len([row for row in page.all("tr") if "data-class" in row]) == MOST
    assert f"the {MOST} largest are listed" in page.text_of("coefficients")
    assert model._dense is None  # never made dense
    data = json.loads(page.one("div", id="looker")["data-rounds"])["rounds"]
    assert (data[0][0], data[-1][0]) == (1, 5000) and len(data) < 5000


def test_a_model_of_zeros_has_a_page():
    model = PrivateLassoClassifier(
        epsilon=1.0, classes=[0, 1], n_rows=4, max_iter=1, radius=1.0
    ).fit(np.ones((4, 1)), [0, 1, 0, 1])
    refitted(model, weights=sp.csr_array((1, 1)))
    page = Page(render(model))
    assert "All coefficients are zero" in page.text_of("coefficients")
    assert not page.all("table", id="bars")


def test_few_coefficients_need_no_button():
    assert not Page(render(classifier(n_nonzero=FIRST))).all("button", id="all")
    many = render(classifier(epsilon=0.1, max_iter=400))
    assert Page(many).one("button", id="all")["aria-expanded"] == "false"


@pytest.mark.parametrize("labels", [(0, 1), ("a", "b", "c")])
def test_evaluation_agrees_with_scikit_learn(labels):
    model = classifier(labels)
    y = np.asarray(labels)[THREE % len(labels)]
    found = evaluate(model, X, y)
    assert found.score == pytest.approx(model.score(X, y))
    np.testing.assert_array_equal(found.confusion, confusion_matrix(y, model.predict(X)))
    scores = model.predict_proba(X)
    expected = (
        roc_auc_score(y, scores[:, 1])
        if len(labels) == 2
        else roc_auc_score(y, scores, multi_class="ovr")
    )
    assert found.auc == pytest.approx(expected)
    false, true = np.transpose(found.roc)
    assert np.trapezoid(true, false) == pytest.approx(expected, abs=0.01)
    assert (false[0], true[0], false[-1], true[-1]) == (0.0, 0.0, 1.0, 1.0)
    page = Page(render(model, evaluation=found))
    assert [s["id"] for s in page.all("section")][:2] == ["guarantee", "quality"]
    assert "Computed on data declared public" in page.text_of("quality")
    cells = [int(c["text"]) for c in page.all("td") if c.get("class", "").startswith("shade")]
    assert cells == np.ravel(found.confusion).tolist()


def test_calibration_counts_every_row():
    model = classifier()
    found = evaluate(model, X, THREE % 2).reliability.bins
    assert sum(rows for *_, rows in found) == 300
    mean = sum(predicted * rows for predicted, _, rows in found) / 300
    assert mean == pytest.approx(model.predict_proba(X)[:, 1].mean())
    assert sum(share * rows for _, share, rows in found) == pytest.approx((THREE % 2).sum())


def test_a_regressor_has_its_r2_and_a_curve():
    model = regressor()
    points = ((1.0, 0.5, 0.4, 0.6), (0.1, 0.25, 0.1, 0.3), (math.inf, 0.9, 0.9, 0.9))
    found = evaluate(model, X, X[:, 0], curve=Curve(points, 200, 100, 5))
    assert found.score == pytest.approx(model.score(X, X[:, 0]))
    page = Page(render(model, evaluation=found))
    text = page.text_of("quality")
    assert "R²" in text and "0.2500" in text and "not private" in text
    assert page.all("figure", id="curve") and not page.all("figure", id="roc")


def test_one_class_only_has_no_roc():
    found = evaluate(classifier(), X, np.zeros(300, int))
    assert found.auc is None and found.roc == ()
    assert not Page(render(classifier(), evaluation=found)).all("figure", id="roc")


def test_what_cannot_be_shown_is_refused():
    with pytest.raises(ValueError, match="give the estimator itself"):
        render(make_pipeline(classifier()))
    with pytest.raises(NotFittedError):
        render(PrivateLassoClassifier())
    with pytest.raises(ValueError, match="not among the model's classes"):
        evaluate(classifier(), X, np.full(300, 7))
    with pytest.raises(ValueError, match="fewer than two"):
        evaluate(classifier(), X[:1], [1])
    with pytest.raises(ValueError, match="curve must be what accuracy_curve gives, got list"):
        evaluate(classifier(), X, THREE % 2, curve=[(1.0, 0.5, 0.5, 0.5)])
    with pytest.raises(ValueError, match="labels that are text, the model's classes are numbers"):
        evaluate(classifier(), X, np.full(300, "yes"))
    with pytest.raises(ValueError, match=r"classes \(0, 1\)"):
        evaluate(classifier(), X, np.full(300, 7))
    for labels in (np.full(300, "61.8x"), np.full(300, np.nan), np.full(300, None)):
        with pytest.raises(ValueError, match="y must be finite numbers") as told:
            evaluate(regressor(), X, labels)
        assert "61.8" not in str(told.value)


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (-3e-7, 8e-7), (0, 5000), (-1.5, 0.2), (1e9, 3e9), (0, 3e-300)]
)
def test_ticks_are_round_inside_and_few(low, high):
    found, slack = ticks(low, high), 1e-9 * (high - low)
    assert 2 <= len(found) <= 6
    assert found[0] >= low - slack and found[-1] <= high + slack
    steps = np.diff(found)
    np.testing.assert_allclose(steps, steps[0], rtol=1e-6)
    assert f"{steps[0]:.6e}"[:8] in ("1.000000", "2.000000", "5.000000")
    bottom, top = rounded_out(low, high)
    assert low - steps[0] < bottom <= low + slack and high - slack <= top < high + steps[0]


@given(low=st.floats(allow_nan=False), high=st.floats(allow_nan=False))
@example(low=1e300, high=1e300)
@example(low=0.0, high=5e-324)
@example(low=-1.7e308, high=1.7e308)
def test_axes_of_extreme_numbers_are_finite(low, high):
    """A model file may hold any numbers, and its page is drawn all the same."""
    bottom, top = rounded_out(min(low, high), max(low, high))
    assert -np.inf < bottom < top < np.inf and 1 <= len(ticks(bottom, top)) <= 20


def test_logarithmic_ticks_and_thinning():
    assert whole_ticks(0.01, 100.0) == [0.01, 0.1, 1.0, 10.0, 100.0]
    kept = thinned([(float(k),) for k in range(1000)], 7)
    assert len(kept) == 7 and kept[0] == (0.0,) and kept[-1] == (999.0,)
