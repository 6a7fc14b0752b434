"""The page of a stream: what is protected, what has expired, and scores only where asked for."""

import json
import math

import numpy as np
import pytest

import dplasso
from dplasso import PrivateLassoClassifier, PrivateOnlineClassifier, PrivateOnlineRegressor
from dplasso.report import Progress, evaluate, render
from html_pages import HOSTILE, Page

RNG = np.random.default_rng(0)
X = RNG.normal(size=(500, 6))
SECTIONS = ["guarantee", "coefficients", "public", "not-protected", "verify"]
PROGRESS = Progress("accuracy", 100, ((100.0, 0.5, 0.5), (30_000.0, 0.75, 0.875)))


def classifier(*budget, classes=(0, 1), **options):
    known = {"classes": list(classes), "window": 100}
    y = np.asarray(classes)[(X[:, 0] > 0).astype(int)]
    return PrivateOnlineClassifier(*budget, **known | options).fit(X, y)


MODELS = {
    "window": classifier,
    "for good": lambda: classifier(window=None),
    "three classes": lambda: classifier(classes=["a", "b", "c"], row_map="as_is"),
    "gamma": lambda: classifier(noise="gamma", batch=50),
    "a call": lambda: classifier(batch="call", loss="smoothed_hinge"),
    "regressor": lambda: PrivateOnlineRegressor(window=50, y_bound=2.0).fit(X, X[:, 1]),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return MODELS[request.param]()


def test_sections_and_numbers_are_those_of_the_stream(model):
    page = Page(render(model))
    several = len(model.intercept_) > 1
    found = [section["id"] for section in page.all("section")]
    assert found == [SECTIONS[0], *(["columns"] if several else []), *SECTIONS[1:]]
    told = model.privacy_
    numbers = dict(
        zip(*([e["text"] for e in page.all(name)] for name in ("dt", "dd")), strict=True)
    )
    assert numbers["Rows so far"] == "500" and numbers["Rows expired"] == str(told["rows_expired"])
    window = told["window_rows"]
    assert numbers["Rows protected"] == ("all" if window == "all" else f"the last {window}")
    assert numbers["Delta"] == ("–" if told["delta"] == 0.0 else "1e−06")
    assert str(told) in page.text_of("guarantee")
    listed = [row for row in page.all("tr") if "data-class" in row]
    assert len(listed) == model.coef_.size


def test_what_has_expired_cannot_be_overlooked(model):
    page = Page(render(model))
    warned = [box["text"] for box in page.all("div", class_="callout warning")]
    expired = f"{model.privacy_['rows_expired']} of 500 have expired"
    if model.privacy_["window_rows"] == "all":
        assert warned == []
    else:
        assert len(warned) == 1 and expired in warned[0]
        assert f"while it is one of the last {model.window}" in page.text_of("guarantee")


def test_rows_that_will_expire_are_told_of_beforehand():
    page = Page(render(classifier(window=10_000)))
    assert "None has expired yet" in page.one("div", class_="callout warning")["text"]


def test_scores_are_there_where_asked_for_and_said_not_to_be_private(model):
    page = Page(render(model, progress=PROGRESS))
    assert "progress" in [section["id"] for section in page.all("section")]
    text = page.text_of("progress")
    assert "NOT PRIVATE" in text and "0.8750" in text and "0.7500" in text
    assert "NOT PRIVATE" not in Page(render(model)).text_of("guarantee")
    assert "rolling" in [figure["id"] for figure in page.all("figure")]
    few = Progress("accuracy", 100, PROGRESS.points[:1])
    assert not Page(render(model, progress=few)).all("figure")


def test_a_snapshot_has_its_digest_and_public_rows_their_scores(model, tmp_path):
    file = tmp_path / "m.dpl"
    model.save(file)
    y = X[:, 1] if model.loss == "squared" else model.predict(X)
    loaded = dplasso.load(file)
    page = Page(render(loaded, model_file=file, evaluation=evaluate(loaded, X, y)))
    assert "SHA-256" in page.text_of("verify") and "quality" in str(page.elements)
    with pytest.raises(ValueError, match="holds another model"):
        render(classifier(5.0), model_file=file)


def test_without_privacy_it_says_so():
    page = Page(render(classifier(math.inf)))
    assert "NOT PRIVATE" in page.one("div", class_="callout danger")["text"]
    assert page.one("h1")["text"] == "Classifier of a stream, not private"


def test_names_and_scores_do_nothing_but_show():
    names = [*HOSTILE[:5], "plain"]
    model = PrivateOnlineClassifier(window=9, classes=HOSTILE[:2], feature_names=names)
    model.fit(X, np.asarray(HOSTILE[:2])[(X[:, 0] > 0).astype(int)])
    page = Page(render(model, progress=Progress(HOSTILE[0], 1, PROGRESS.points)))
    assert len(page.all("script")) == 1 and not page.all("img")


def test_progress_is_of_streams():
    with pytest.raises(ValueError, match="progress must be that of a stream"):
        render(
            PrivateLassoClassifier(classes=[0, 1], n_rows=500).fit(X, X[:, 0] > 0),
            progress=PROGRESS,
        )


@pytest.mark.parametrize(
    "document",
    [
        "no json",
        "[]",
        "{}",
        json.dumps({"curve": {"score": "accuracy", "recent_rows": 9, "points": [[1, 2]]}}),
        json.dumps(
            {"curve": {"score": "accuracy", "recent_rows": 9, "points": [[1, 2, math.nan]]}}
        ),
    ],
)
def test_files_without_scores_are_refused(tmp_path, document):
    (tmp_path / "metrics.json").write_text(document)
    with pytest.raises(ValueError, match="has no scores of a stream; give the metrics.json"):
        Progress.read(tmp_path / "metrics.json")
