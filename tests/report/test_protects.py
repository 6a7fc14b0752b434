"""Whom a model protects is the first thing that its page says."""

import math

import numpy as np
import pytest

from dplasso import PrivateLassoClassifier, PrivateOnlineClassifier
from dplasso.privacy.statement import PrivacyStatement
from dplasso.report import describe, render
from dplasso.report.protects import Unit, unit_of
from html_pages import HOSTILE, Page

X = np.random.default_rng(0).uniform(-1, 1, (60, 3))
Y = (X[:, 0] > 0).astype(int)


def classifier(epsilon=1.0, unit=None, **options):
    known = {"classes": [0, 1], "n_rows": 60, "x_bound": 1.0}
    model = PrivateLassoClassifier(epsilon, **known | options).fit(X, Y)
    if unit is not None:
        counted = {"rows_per_person": {"value": 3, "source": "given", "of": ""}}
        public = model.privacy_["public"] | counted
        model.privacy_ = type(model.privacy_)(model.privacy_, unit=unit, public=public)
    return model


def lead(model):
    return Page(render(model)).one("p", class_="protects")["text"]


def test_a_statement_without_a_unit_is_about_rows():
    model = classifier()
    assert unit_of(PrivacyStatement(epsilon=1.0)) == Unit("row")
    assert lead(model).startswith("Protects each row")
    assert "protected only at k times that epsilon and a larger delta." in lead(model)
    assert "A person who has several rows" in Page(render(model)).text_of("not-protected")
    assert describe(model)["protects"]["unit"] == "row"


@pytest.mark.parametrize("column", ["patient_id", None, HOSTILE[0]])
@pytest.mark.parametrize("neighboring", ["add_remove", "replace_one"])
def test_a_person_is_protected_with_all_rows(column, neighboring):
    unit = "person" if column is None else f"person: {column}"
    model = classifier(unit=unit, neighboring=neighboring)
    page = Page(render(model))
    said = page.one("p", class_="protects")["text"]
    assert said.startswith("Protects each person") and "all rows of one person" in said
    assert (column or "together.") in said
    assert "certain person" in page.text_of("guarantee")
    assert "certain row" not in page.text_of("guarantee")
    limits = page.text_of("not-protected")
    assert "under several identifiers" in limits and "who has several rows" not in limits
    protects = describe(model)["protects"]
    assert (protects["unit"], protects["column"]) == ("person", column)
    assert protects["rows_per_person"] == 3
    assert len(page.all("script")) == 1


def test_a_fit_to_people_says_how_many_rows_a_person_counts_as():
    known = {"classes": [0, 1], "n_rows": 60, "n_people": 20, "x_bound": 1.0}
    model = PrivateLassoClassifier(1.0, person="visitor", rows_per_person=2, **known)
    model.fit(X, Y, groups=np.arange(len(Y)) // 3)
    assert unit_of(model.privacy_) == Unit("person", "visitor", 2)
    assert lead(model).startswith("Protects each person")


def test_a_window_protects_the_last_rows():
    stream = PrivateOnlineClassifier(classes=[0, 1], window=20).fit(X, Y)
    assert lead(stream).startswith("Protects each of the last 20 rows")


def test_without_privacy_nobody_is_protected():
    model = classifier(math.inf, unit="person")
    assert lead(model).startswith("Protects nobody")
    assert describe(model)["protects"]["unit"] is None


def test_rows_are_called_what_people_count_as_where_people_are_counted():
    public = {"classes": [0, 1], "x_bound": 1.0, "n_rows": 60}
    of_rows = PrivateLassoClassifier(1.0, **public).fit(X, Y)
    groups = np.repeat(np.arange(20), 3)
    of_people = PrivateLassoClassifier(1.0, **public, n_people=20).fit(X, Y, groups=groups)
    called = "Rows that all people together count as, at most"
    assert called in Page(render(of_people)).text_of("public")
    assert called not in Page(render(of_rows)).text_of("public")


def test_a_fit_of_which_there_is_nothing_to_tell_but_steps_has_no_section_on_its_growth():
    public = {"classes": [0, 1], "x_bound": 1.0, "n_rows": 60}
    of_table = PrivateLassoClassifier(1.0, **public, solver="table").fit(X, Y)
    assert "How the model" not in render(of_table)
    in_rounds = PrivateLassoClassifier(1.0, **public, solver="frank_wolfe", max_iter=3, radius=1.0)
    assert "How the model grew" in render(in_rounds.fit(X, Y))
