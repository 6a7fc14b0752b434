"""A fit to shards is the fit to all rows, to the last bit, however the rows are cut."""

import io
import re
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from dplasso import PrivateLassoClassifier, Schema, Shards, load, read_rows
from dplasso.base.wording import ParameterError
from dplasso.cluster import selections
from dplasso.cluster.opened import opened
from dplasso.cluster.shard import _digest_of
from dplasso.reading import Rows, convert
from sharded import SCHEMA, Problem, assert_same, ball_problems, cuts, problems, write_svmlight

pytestmark = pytest.mark.filterwarnings("ignore:random_state makes the fit repeatable")


@pytest.mark.parametrize("problem", problems(), ids=lambda problem: problem.name)
def test_every_cut_of_the_rows_gives_the_same_model(problem, tmp_path):
    whole = problem.fitted(tmp_path)
    for name, cut in cuts().items():
        assert_same(whole, problem.model().fit(problem.write(tmp_path / name, cut)))


def test_a_model_of_shards_is_saved_and_loaded_like_any_other(tmp_path):
    problem = problems()[0]
    shards = problem.write(tmp_path / "parts", cuts()["two"])
    model = problem.model().fit(shards)
    model.save(tmp_path / "model")
    assert_same(model, load(tmp_path / "model"))
    assert load(tmp_path / "model").backend == "local"


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


TABLE = """person,age,town,label
{rows}"""


def table_lines():
    rng = np.random.default_rng(0)
    people = rng.integers(0, 60, 200)
    ages, towns = rng.integers(0, 120, 200), rng.integers(0, 9, 200)
    labels = np.where(ages + rng.normal(0, 20, 200) > 50, "yes", "no")
    facts = zip(people, ages, towns, labels, strict=True)
    return [f"p{p},{a},t{t},{label}" for p, a, t, label in facts]


def write_table(path, lines):
    path.write_text(TABLE.format(rows="\n".join(lines)) + "\n")
    return path


@pytest.mark.parametrize("solver", ["table", "gradient"])
@pytest.mark.parametrize("rows_per_person", [1, 3])
def test_people_are_counted_over_all_shards(solver, rows_per_person, tmp_path):
    """A person's rows in several shards weigh as much together as they do in one file."""
    lines = table_lines()
    (tmp_path / "schema.toml").write_text(SCHEMA)
    schema = Schema.from_toml(tmp_path / "schema.toml")
    known = {"n_people": 60, "n_rows": 200, "rows_per_person": rows_per_person}
    model = PrivateLassoClassifier(4.0, solver=solver, random_state=1, **known)
    rows = read_rows(write_table(tmp_path / "all.csv", lines), schema=schema)
    whole = model.fit(rows.described(), rows.y)
    assert whole.privacy_["unit"].startswith("person")
    parts = [lines[:31], lines[31:130], lines[130:]]
    paths = [write_table(tmp_path / f"{k}.csv", part) for k, part in enumerate(parts)]
    again = PrivateLassoClassifier(4.0, solver=solver, random_state=1, **known)
    assert_same(whole, again.fit(Shards(paths, schema=schema)))


def test_an_undeclared_number_of_people_is_that_of_all_shards(tmp_path):
    lines = table_lines()
    (tmp_path / "schema.toml").write_text(SCHEMA)
    paths = [write_table(tmp_path / f"{k}.csv", lines[k::3]) for k in range(3)]
    with opened(Shards(paths, schema=tmp_path / "schema.toml")) as shards:
        assert shards.n_people == len({line.split(",")[0] for line in lines})
        assert shards.shape == (200, 17)


def test_stores_of_shards_hold_all_rows_once(tmp_path):
    problem = problems()[1]
    write_svmlight(tmp_path / "all.svm", problem.X, problem.y)
    convert(tmp_path / "all.svm", tmp_path / "one", memory=1 << 30, **problem.options)
    convert(tmp_path / "all.svm", tmp_path / "parts", memory=1 << 30, shards=3, **problem.options)
    assert [path.name for path in sorted((tmp_path / "parts").iterdir())] == [
        "part-00000",
        "part-00001",
        "part-00002",
    ]
    whole = read_rows(tmp_path / "one")
    for k, path in enumerate(sorted((tmp_path / "parts").iterdir())):
        part = read_rows(path)
        assert np.array_equal(part.y, whole.y[k::3])
        assert np.array_equal(part.X.rows().toarray(), whole.X.rows().toarray()[k::3])
    local = problem.model().fit(whole.described(), whole.y)
    assert_same(local, problem.model().fit(Shards(tmp_path / "parts")))
    with pytest.raises(ValueError, match="exists"):
        convert(tmp_path / "all.svm", tmp_path / "parts", shards=2, **problem.options)
    options = problem.options | {"memory": 1 << 30, "overwrite": True}
    convert(tmp_path / "all.svm", tmp_path / "parts", shards=2, **options)
    assert len(list((tmp_path / "parts").iterdir())) == 2


def test_facts_that_no_shard_knows_alone_must_be_declared(tmp_path):
    problem = problems()[0]
    problem.write(tmp_path / "parts", cuts()["two"])
    with pytest.raises(ParameterError, match="n_features must be declared"):
        problem.model().fit(Shards(tmp_path / "parts"))
    shards = Shards(tmp_path / "parts", **problem.options)
    with pytest.raises(ParameterError, match="classes must be declared"):
        problem.model(classes=None).fit(shards)
    with pytest.raises(ParameterError, match="cannot be released for shards"):
        problem.model(x_bound="private", row_map="as_is").fit(shards)
    with pytest.raises(ParameterError, match="device='cuda' is for rows in memory"):
        problem.model(device="cuda").fit(shards)
    with pytest.raises(ParameterError, match="y must be None"):
        problem.model().fit(shards, problem.y)
    with pytest.raises(ParameterError, match=r"pass dplasso\.Shards"):
        problem.model(backend="ray").fit(problem.X, problem.y)
    with pytest.raises(ParameterError, match="backend must be one of"):
        problem.model(backend="spark").fit(shards)


def test_shards_with_other_columns_are_rejected(tmp_path):
    lines = table_lines()
    (tmp_path / "schema.toml").write_text(SCHEMA)
    for k, buckets in enumerate((16, 8)):
        text = SCHEMA.replace("buckets = 16", f"buckets = {buckets}")
        (tmp_path / "other.toml").write_text(text)
        table, schema = write_table(tmp_path / f"{k}.csv", lines), tmp_path / "other.toml"
        convert(table, tmp_path / f"store-{k}", memory=1 << 30, schema=schema)
    stores = [tmp_path / "store-0", tmp_path / "store-1"]
    with pytest.raises(ParameterError, match="shards differ"):
        PrivateLassoClassifier(n_rows=400, n_people=60).fit(Shards(stores))


def test_errors_of_a_shard_tell_no_value(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "a.svm").write_text("0 1:1\n1 2:1\n")
    (tmp_path / "parts" / "b.svm").write_text("7 1:1\n")
    shards = Shards(tmp_path / "parts", n_features=2)
    model = Problem("", sp.csr_array((1, 2)), np.zeros(1), {"classes": [0, 1]}).model()
    with pytest.raises(ParameterError, match="outside the declared classes") as raised:
        model.fit(shards)
    assert "7" not in str(raised.value)


def test_rows_that_differ_have_other_digests():
    """No part of a label, an identifier or a number can pass for a part of its neighbour."""

    def digest(y, groups=None, X=((1.0, 2.0), (3.0, 0.0))):
        texts = [None if part is None else np.array(part, object) for part in (y, groups)]
        return _digest_of(Rows(sp.csr_array(np.array(X)), *texts[:1], groups=texts[1]), b"key")

    found = [
        digest(["1", "23"], ["x", "y"]),
        digest(["1", "2"], ["3x", "y"]),
        digest(["1", "2"], ["3x", None]),
        digest(["1", "2"], ["3x", "None"]),
        digest(["1", "2"], ["3x", ""]),
        digest(["1", "2"]),
        digest(["", "12"]),
        digest(["1\0", "2"]),
        digest(["1", "\0002"]),
        digest(None),
        digest(None, X=((1.0, 2.0), (0.0, 3.0))),
        digest(None, X=((1.0, 2.0), (3.5, 0.0))),
    ]
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("solver", ["gradient", "table", "frank_wolfe"])
def test_steps_and_the_work_of_every_shard_are_shown(solver, tmp_path, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(selections, "SHOW_EVERY", 0.0)
    problem = next(one for one in ball_problems() if one.name == "dense")
    shards = problem.write(tmp_path / "parts", cuts()["uneven"])
    known = {"n_rows": 240, "x_bound": [(-1.0, 1.0)] * 6, "verbose": 1}
    if solver == "frank_wolfe":
        known |= {"max_iter": 60, "fit_intercept": False}
    model = PrivateLassoClassifier(30.0, solver=solver, classes=[0, 1], **known).fit(shards)
    shown = terminal.getvalue()
    assert f"/{model.n_iter_}" in shown
    assert re.search(r"work of shards( \d+%){4}; \d\.\d GiB", shown) and "100%" in shown
