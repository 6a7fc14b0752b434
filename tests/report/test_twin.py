"""The JSON twin has the figures of the page, and only values of JSON."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dplasso import PrivateLassoClassifier, PrivateLassoRegressor, PrivateOnlineClassifier
from dplasso.report import About, Curve, Progress, describe, examine, render
from dplasso.report.names import number, score_text
from html_pages import HOSTILE, Page

RNG = np.random.default_rng(0)
X = RNG.uniform(-1.0, 1.0, (600, 5))
TOWNS = RNG.choice(["Ulm", "Graz", HOSTILE[0]], 600, p=[0.6, 0.35, 0.05]).tolist()
CURVE = Curve(((0.1, 0.4, 0.3, 0.5), (math.inf, 0.9, 0.9, 0.9)), 200, 100, 5)
ABOUT = About("To try it out", "The office", HOSTILE[2])


def classifier(classes=(0, 1), **options):
    given = {"epsilon": 5.0, "max_iter": 60, "radius": 10.0, "n_rows": 600}
    y = np.asarray(classes)[np.digitize(X[:, 0], [0.0, 0.5][: len(classes) - 1])]
    return PrivateLassoClassifier(**given | options, classes=classes).fit(X, y), y


def regressor():
    return PrivateLassoRegressor(5.0, max_iter=60, radius=10.0).fit(X, X[:, 0]), X[:, 0]


MODELS = {
    "two classes": lambda: classifier(),
    "three classes": lambda: classifier(("a", "b", HOSTILE[1])),
    "hinge": lambda: classifier(loss="hinge"),
    "numbers": regressor,
}


@pytest.fixture(scope="module", params=MODELS)
def both(request):
    model, y = MODELS[request.param]()
    found = examine(model, X, y, by={"town": TOWNS}, curve=CURVE, data_name="rows.csv")
    options = {"evaluation": found, "about": ABOUT, "command": "dplasso report m.dpl"}
    document = json.loads(json.dumps(describe(model, **options), allow_nan=False))
    return Page(render(model, **options)), document, model


def cards(page):
    names, values = ([e["text"] for e in page.all(kind)] for kind in ("dt", "dd"))
    return dict(zip(names, values, strict=True))


def test_scores_of_both_are_equal(both):
    page, document, _ = both
    quality, shown = document["quality"], cards(page)
    assert shown[quality["score_name"]].startswith(score_text(quality["score"]))
    assert quality["trivial_answer"] in page.one("header")["text"]
    assert score_text(quality["trivial"]) in page.one("header")["text"]
    text = page.text_of("quality")
    assert quality["verdict"] in text
    if quality["auc"] is not None:
        assert shown["Area under the ROC"] == score_text(quality["auc"])
        assert f"{quality['log_loss']:.4f}" in text
    for name, of in quality["by_class"].items():
        assert f"for {of['answered']:,} of 600 rows" in text and name in text


def test_calibration_and_charts_of_both_are_equal(both):
    page, document, model = both
    quality, text = document["quality"], page.text_of("quality")
    charts = {figure["id"] for figure in page.all("figure")}
    if isinstance(model, PrivateLassoRegressor):
        errors = quality["residuals"]
        assert {"pairs", "errors"} <= charts and "roc" not in charts
        for figure in ("size", "median_size", "root_mean_square", "mean"):
            assert number(errors[figure]) in text
        assert (
            len(page.one("figure", id="errors")["text"]) and quality["calibration"]["text"] in text
        )
        assert sum(rows for *_, rows in errors["cells"]) == 600
        return
    if model.loss == "hinge":
        assert quality["ranking"] is None and quality["calibration"] is None
        assert not {"thresholds", "gain", "calibration"} & charts
        return
    assert {"roc", "thresholds", "precision-recall", "gain", "calibration"} <= charts
    assert quality["calibration"]["text"] in text
    assert score_text(quality["calibration"]["error"]) in page.one("header")["text"]
    for predicted, observed, rows in quality["reliability"]["bins"]:
        assert score_text(predicted) in text and score_text(observed) in text and rows
    half = next(at for at in quality["ranking"]["thresholds"] if at["threshold"] == 0.5)
    assert score_text(half["precision"]) in text
    description = page.one("desc", id="precision-recall-desc")["text"]
    assert score_text(quality["ranking"]["average_precision"]) in description


def test_everything_that_is_referred_to_is_on_the_page_once(both):
    page, _, _ = both
    known = [element["id"] for element in page.elements if "id" in element]
    assert len(set(known)) == len(known)
    for element in page.elements:
        for kind in ("aria-labelledby", "aria-describedby", "aria-controls"):
            assert element.get(kind, known[0]) in known
    assert len(page.all("caption")) == len(page.all("table"))
    assert all("scope" in head for head in page.all("th"))


def test_groups_of_both_are_equal(both):
    page, document, _ = both
    text = page.text_of("subgroups")
    (town,) = document["subgroups"]
    assert town["column"] == "town" and {g["name"] for g in town["groups"]} == set(TOWNS)
    for group in town["groups"]:
        assert group["name"] in text and score_text(group["score"]) in text
        assert group["few"] == (group["rows"] < 100)
    assert text.count("fewer than 100 rows") == sum(group["few"] for group in town["groups"]) == 1


def test_privacy_coefficients_and_texts_of_both_are_equal(both):
    page, document, model = both
    assert document["privacy"] == json.loads(json.dumps(dict(model.privacy_)))
    assert document["statement"] in page.text_of("guarantee")
    for belief in document["beliefs"]:
        assert f"{100 * belief['at_most']:.2f} %" in page.text_of("guarantee")
    listed = [row for row in page.all("tr") if "data-class" in row]
    assert len(document["coefficients"]) == len(listed) == document["model"]["nonzeros"]
    for found, row in zip(document["coefficients"], listed, strict=True):
        assert found["feature"] in row["text"]
        assert f"{found['value']:#.4g}".replace("-", "−") in row["text"]
    boxes = [
        box["text"]
        for kind in ("danger", "warning")
        for box in page.all("div", class_=f"callout {kind}")
    ]
    for warning in document["warnings"]:
        assert f"{warning['title']} {warning['text']}" in boxes
    assert document["about"] == {
        "intended_use": ABOUT.intended_use,
        "owner": ABOUT.owner,
        "contact": ABOUT.contact,
    }
    for text in document["about"].values():
        assert text in page.text_of("about")
    assert document["command"] in page.text_of("verify")
    assert "drawn anew" in page.text_of("verify")  # there is a curve
    for sentence in document["not_protected"]:
        assert sentence in page.text_of("not-protected")


def test_sections_are_absent_without_their_facts():
    model, _ = classifier()
    page, document = Page(render(model)), describe(model)
    sections = {section["id"] for section in page.all("section")}
    assert not sections & {"about", "ledger", "quality", "subgroups", "progress"}
    for name in ("ledger", "quality", "progress", "command"):
        assert document[name] is None
    assert document["about"] == {} and document["subgroups"] == []
    assert "writes the page again" not in page.text_of("verify")
    found = examine(model, X, X[:, 0] > 0)
    assert not Page(render(model, evaluation=found)).all("section", id="subgroups")


def test_a_banner_says_that_calibration_is_off():
    model, y = classifier()
    found = examine(model, X, y)
    off = replace(found.reliability, bins=((0.9, 0.5, 300), (0.2, 0.1, 300)), of_answers=False)
    shown = {}
    for name, reliability in {"off": off, "fine": replace(off, bins=((0.5, 0.5, 600),))}.items():
        html = render(model, evaluation=replace(found, reliability=reliability))
        shown[name] = html.partition("</header>")[0]
    assert "Calibration is off." in shown["off"] and "⚠ off" in shown["off"]
    assert "Calibration is off." not in shown["fine"] and "close" in shown["fine"]


def test_streams_and_infinite_epsilons_are_json_too():
    y = (X[:, 0] > 0).astype(int)
    stream = PrivateOnlineClassifier(classes=[0, 1], window=100).fit(X, y)
    progress = Progress("accuracy", 100, ((100.0, 0.5, 0.5),))
    facts = json.loads(json.dumps(describe(stream, progress=progress), allow_nan=False))
    assert facts["progress"]["points"] == [[100.0, 0.5, 0.5]] and facts["model"]["steps"] is None
    plain, _ = classifier(epsilon=math.inf)
    facts = json.loads(json.dumps(describe(plain), allow_nan=False))
    assert facts["privacy"]["epsilon"] == "inf" and facts["beliefs"] == []


def test_every_field_is_documented():
    text = (Path(__file__).parents[2] / "docs" / "how_to" / "report.md").read_text("utf-8")
    model, y = classifier()
    facts = describe(model, evaluation=examine(model, X, y, by={"town": TOWNS}))
    for name, value in facts.items():
        assert f"`{name}`" in text, name
        for inner in value if isinstance(value, dict) and name not in ("privacy", "about") else ():
            assert re.search(rf"`{inner}`", text), f"{name}.{inner}"
