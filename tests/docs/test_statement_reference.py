"""docs/reference/statement.md documents every field of every kind of privacy statement."""

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from dplasso import (
    Budget,
    PrivateLassoClassifier,
    PrivateLassoRegressor,
    PrivateOnlineClassifier,
    PrivateOnlineRegressor,
    PrivateSearch,
    Sparsifier,
    private_score,
)

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "statement.md"
# Sections of the page, and the part of a statement whose fields each lists.
SECTIONS = {
    "Top-level fields": "",
    "Facts": "fact.",
    "Bounds": "bounds.",
    "Public facts": "public.",
    "Releases": "releases.",
    "Searches": "search.",
    "Ledger receipts": "ledger.",
}
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (200, 4))
LABELS = (X[:, 0] > 0).astype(int)
WIDE = sp.random(200, 1200, 0.02, format="csr", random_state=0)
BOTH = sp.hstack([sp.csr_array(X), WIDE], format="csr")  # ranges, and wide columns
PEOPLE = np.arange(200) % 50
OF_CLASSES: dict[str, Any] = {"classes": [0, 1], "x_bound": 1.0, "n_rows": 200}
OF_NUMBERS: dict[str, Any] = {"y_bound": (0, 1), "x_bound": 1.0, "n_rows": 200}


def documented() -> set[str]:
    """The fields in the first column of the tables of the page, with their section's prefix."""
    found, prefix = set(), None
    for line in PAGE.read_text().splitlines():
        if line.startswith("## "):
            prefix = SECTIONS.get(line.removeprefix("## "))
        elif (cell := re.match(r"\| `(\w+)` \|", line)) and prefix is not None:
            found.add(prefix + cell[1])
    return found


def fields(statement: dict[str, Any]) -> set[str]:
    """All fields of a statement, by the names of `SECTIONS`."""
    found = set(statement)
    for part in ("bounds", "public", "search", "ledger"):
        found |= {f"{part}.{name}" for name in statement.get(part, ())}
    found |= {f"releases.{name}" for release in statement["releases"] for name in release}
    facts = [*statement["bounds"].values(), *statement["public"].values()]
    return found | {f"fact.{name}" for fact in facts for name in fact}


def of_table(**given: Any) -> dict[str, Any]:
    return dict(
        PrivateLassoClassifier(1.0, solver="table", **OF_CLASSES, **given).fit(X, LABELS).privacy_
    )


def statements(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """A real statement of each solver, of searches, of scores and of streams."""
    budget = Budget(10, 1e-5, store=folder / "budget.sqlite")
    yield "table", of_table(accountant=budget, class_weight={0: 0.5, 1: 1.0})
    ranges = [(-1, 1)] * 4 + [1.0] * 1200
    of_both = PrivateLassoRegressor(1.0, solver="table", y_bound=(0, 1), n_rows=200, x_bound=ranges)
    yield "table with wide columns", of_both.fit(BOTH, LABELS).privacy_
    of_people = PrivateLassoRegressor(1.0, y_bound=1, x_bound=1.0, n_people=50, person="patient")
    yield "people", of_people.fit(X, LABELS, groups=PEOPLE).privacy_
    hinge = PrivateLassoClassifier(1.0, solver="gradient", loss="hinge", **OF_CLASSES)
    yield "gradient", hinge.fit(X, LABELS).privacy_
    centred = PrivateLassoClassifier(
        1.0, solver="gradient", **OF_CLASSES | {"x_bound": [(-1, 1)] * 4}
    )
    yield "centred", centred.fit(pd.DataFrame(X, columns=list("abcd")), LABELS).privacy_
    bounded = OF_NUMBERS | {"x_bound": "private", "n_nonzero": Sparsifier()}
    of_vertices = PrivateLassoRegressor(1.0, solver="frank_wolfe", **bounded)
    yield "frank_wolfe", of_vertices.fit(X, LABELS).privacy_
    few = PrivateLassoClassifier(8.0, n_nonzero=2, **OF_CLASSES | {"n_rows": 30_000})
    yield "select", few.fit(WIDE, LABELS).privacy_
    yield "not private", PrivateLassoRegressor(math.inf, **OF_NUMBERS).fit(X, LABELS).privacy_
    search = PrivateSearch(
        PrivateLassoClassifier(**OF_CLASSES), {"radius": [1.0, 3.0]}, epsilon=1.0
    )
    yield "search", search.fit(X, LABELS).best_estimator_.privacy_
    for model in (
        PrivateLassoClassifier(1.0, **OF_CLASSES),
        PrivateLassoRegressor(1.0, **OF_NUMBERS),
    ):
        scored = private_score(model.fit(X, LABELS), X, LABELS, epsilon=1.0)
        yield f"score of {type(model).__name__}", scored.privacy
    stream = PrivateOnlineClassifier(
        1.0, window=50, classes=[0, 1], n_features=4, half_life=100, accountant=budget
    )
    yield "stream", stream.partial_fit(X, LABELS).privacy_
    endless = PrivateOnlineRegressor(
        1.0, window=None, y_bound=1.0, n_features=4, noise="gamma", batch="call"
    )
    yield "endless stream", endless.partial_fit(X[:3], LABELS[:3]).privacy_


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return dict(statements(tmp_path_factory.mktemp("statements")))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_field_of_every_statement_is_documented(made: dict[str, dict[str, Any]]) -> None:
    known = documented()
    missing = {kind: lacking for kind, told in made.items() if (lacking := fields(told) - known)}
    assert not missing


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_documented_field_occurs_in_some_statement(made: dict[str, dict[str, Any]]) -> None:
    occurring = set().union(*map(fields, made.values()))
    assert documented() == occurring


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_source_in_a_statement_is_documented(made: dict[str, dict[str, Any]]) -> None:
    text = PAGE.read_text()
    section = text.split("## Sources\n")[1].split("\n## ")[0]
    known = tuple(re.findall(r"^\| `([^`]+)` \|", section, re.M))
    sources = {
        fact["source"]
        for told in made.values()
        for group in ("bounds", "public")
        for fact in told[group].values()
    }
    assert len(known) > 5
    assert not {source for source in sources if not source.startswith(known)}


def test_the_paragraph_on_the_page_is_that_of_its_example() -> None:
    page = PAGE.read_text()
    example, *_ = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {"print": lambda *_: None}
    exec(example, names)
    (shown,) = re.findall(r"```text\n(This .*?)```", page, re.DOTALL)
    assert " ".join(shown.split()) == str(names["model"].privacy_)
