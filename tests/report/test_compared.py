"""Several models on one page: privacy, quality, size and columns side by side."""

import json
import math

import numpy as np
import pytest

from dplasso import Budget, PrivateLassoClassifier, PrivateLassoRegressor
from dplasso.report import (
    About,
    Subject,
    describe_several,
    examine,
    render_several,
    write_several,
)
from dplasso.report.compared import TOP, together
from dplasso.report.importance import importances
from dplasso.report.names import score_text
from html_pages import HOSTILE, Page

RNG = np.random.default_rng(0)
X = RNG.uniform(-1.0, 1.0, (400, 12))
Y = (X[:, 0] > 0).astype(int)


def subject(epsilon, name="model.dpl", folder=None, labels=Y, **options):
    known = {"n_rows": 400, "max_iter": 30, "radius": 5.0, "x_bound": 1.0}
    model = PrivateLassoClassifier(epsilon, classes=[0, 1], **known | options).fit(X, labels)
    found = examine(model, X, labels, data_name="rows.csv")
    path = None
    if folder is not None:
        path = folder / name
        model.save(path)
    return Subject(model, model_file=path, evaluation=found)


def test_each_model_has_its_column(tmp_path):
    subjects = [subject(5.0, "a.dpl", tmp_path), subject(0.5, "b.dpl", tmp_path)]
    page = Page(render_several(subjects, command="dplasso report a.dpl b.dpl"))
    assert [s["id"] for s in page.all("section")] == [
        *("privacy", "quality", "size", "columns", "verify")
    ]
    facts = describe_several(subjects)
    assert [found["model"]["file"] for found in facts["models"]] == ["a.dpl", "b.dpl"]
    quality, size = page.text_of("quality"), page.text_of("size")
    for found in facts["models"]:
        assert score_text(found["quality"]["score"]) in quality
        assert score_text(found["quality"]["auc"]) in quality
        assert str(found["model"]["nonzeros"]) in size
        assert found["model"]["sha256"] in page.text_of("verify")
    assert "the same 400 rows of rows.csv" in quality
    assert "Computed on data declared public" in quality
    assert "dplasso report a.dpl b.dpl" in page.text_of("verify")
    assert str(tmp_path) not in render_several(subjects)
    heads = [head["text"] for head in page.all("th") if head.get("scope") == "col"]
    assert heads == ["a.dpl", "b.dpl"] * 4
    json.dumps(facts, allow_nan=False)


def test_models_of_one_name_are_numbered_and_texts_are_about_all(tmp_path):
    (tmp_path / "old").mkdir()
    subjects = [subject(1.0, folder=tmp_path), subject(1.0, folder=tmp_path / "old")]
    about = About(owner="The office")
    page = Page(render_several(subjects, about=about))
    heads = [head["text"] for head in page.all("th") if head.get("scope") == "col"]
    assert set(heads) == {"model.dpl (1)", "model.dpl (2)"}
    assert "The office" in page.text_of("about")
    assert "About these models" in page.text_of("about")
    assert describe_several(subjects, about=about)["about"] == {"owner": "The office"}


def test_the_largest_columns_of_each_are_listed():
    subjects = [subject(5.0), subject(0.3)]
    text = Page(render_several(subjects)).text_of("columns")
    for one in subjects:
        for column in importances(one.model)[:TOP]:
            assert column.column in text


def test_guarantees_add_up_where_they_can():
    private = [subject(1.0), subject(0.25)]
    assert together(private) == pytest.approx({"epsilon": 1.25, "delta": 2e-6})
    assert "epsilon 1.25 and delta 2e−06" in Page(render_several(private)).one("header")["text"]
    for other in (subject(math.inf), subject(1.0, neighboring="replace_one")):
        assert together([private[0], other]) is None
        assert "cannot be added up" in render_several([private[0], other])
        assert describe_several([private[0], other])["together"] is None
    person = subject(1.0)
    unit = "person"
    person.model.privacy_ = type(person.model.privacy_)(person.model.privacy_, unit=unit)
    assert together([private[0], person]) is None


def test_warnings_name_their_model(tmp_path):
    sound, unsound = subject(1.0, "a.dpl", tmp_path), subject(math.inf, "b.dpl", tmp_path)
    page = Page(render_several([sound, unsound]))
    (box,) = page.all("div", class_="callout danger")
    assert box["text"].startswith("NOT PRIVATE.")
    assert any(
        e["text"].startswith("b.dpl: NOT PRIVATE") for e in page.all("div", class_="of-model")
    )


def test_models_without_scores_and_of_different_kinds_stand_side_by_side(tmp_path):
    number = PrivateLassoRegressor(1.0, n_rows=400, max_iter=20, radius=2.0).fit(X, X[:, 0])
    budget = Budget(3.0, 1e-6, store=tmp_path / "ledger.sqlite")
    charged = subject(1.0, accountant=budget)
    plain = [Subject(number), Subject(charged.model, ledger=budget)]
    page = Page(render_several(plain))
    assert not page.all("section", id="quality")
    assert "entry 1" in page.text_of("privacy") and "–" in page.text_of("privacy")
    assert page.all("section", id="columns")
    scored = Subject(number, evaluation=examine(number, X, X[:, 0]))
    assert "R²" in Page(render_several([scored, charged])).text_of("quality")


def test_hostile_names_stay_text():
    subjects = [Subject(subject(1.0).model, title=name.replace("\ud800", "?")) for name in HOSTILE]
    for one in subjects:
        one.model.feature_names_in_ = np.array([*HOSTILE, "a", "b", "c"], dtype=object)
    page = Page(render_several(subjects, title=HOSTILE[0], command=HOSTILE[1]))
    assert len(page.all("script")) == 1 and not page.all("img")
    for element in page.elements:
        assert not any(key.startswith("on") or key == "style" for key in element)


def test_one_model_is_refused_and_the_file_is_replaced(tmp_path):
    with pytest.raises(ValueError, match="two models or more"):
        render_several([subject(1.0)])
    subjects = [subject(1.0), subject(2.0)]
    write_several(tmp_path / "page.html", subjects, title="Ours")
    assert (tmp_path / "page.html").read_text("utf-8") == render_several(subjects, title="Ours")


def test_a_ledger_that_has_all_models_says_what_they_cost_together(tmp_path):
    budget = Budget(5.0, 1e-6, tmp_path / "ledger.sqlite")
    models = [subject(1.0, accountant=budget).model for _ in range(3)]
    given = [Subject(model, ledger=budget) for model in models]
    assert together(given)["epsilon"] == budget.spent_epsilon < 3.0
    assert together(given)["delta"] == budget.delta
    two, entered = together(given[:2]), Subject(models[0])
    assert two["epsilon"] == models[1].privacy_["ledger"]["epsilon_spent"]
    assert together([given[0], given[0]])["epsilon"] == pytest.approx(1.0, abs=1e-6)  # one release
    assert together([entered, given[1]])["epsilon"] == 2.0  # not given for both
    said = render_several(given[:2])
    assert "charged to one ledger" in said and "A ledger may show" not in said
    assert "A ledger may show" in render_several([entered, given[1]])
