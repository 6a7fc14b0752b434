"""``dplasso inspect`` of models trained from tables: target, columns, and what buckets hold."""

import json
import re

import numpy as np
import pytest

from commanding import FEW, TABLE, people, write_table
from dplasso import load
from dplasso.reading.tables import table_chunks
from dplasso.schema import FeatureSpace, Schema


@pytest.fixture
def table(tmp_path):
    return write_table(tmp_path / "people.csv", people())


@pytest.fixture
def trained(tmp_path, table, good):
    path = tmp_path / "model.dpl"
    given = (*TABLE, "--classes", "no,yes", "--rows", 200, "--max-iter", 300, "--radius", 5, "-q")
    good("train", table, "-o", path, *given)
    return path


def test_target_columns_and_intercept_are_plain(trained, good):
    out = good("inspect", trained)
    model = load(trained)
    assert re.search(r"^target +sick$", out, re.M)
    assert re.search(rf"^intercept +{model.intercept_[0]:.6g}$", out, re.M)
    for name, role, features in FeatureSpace(Schema.from_dict(model.table_plan_)).roles:
        assert re.search(rf"^{name} +{re.escape(role)} +{features}$", out, re.M)
    assert "drawn with noise" in out and "With so few rows" in out
    facts = json.loads(good("inspect", trained, "--json"))
    assert facts["target"] == "sick" and facts["intercept"] == model.intercept_.tolist()
    assert "buckets" not in facts


def test_without_coefficients_nothing_is_said_of_them(trained, good):
    out = good("inspect", trained, "--top", 0)
    assert "Largest coefficients" not in out and "drawn with noise" not in out
    assert "differentially private" in out


def test_buckets_are_those_that_rows_are_read_into(trained, table, good):
    model = load(trained)
    rows = [{**people(1)[0], "note": "Fever", "town": "Graz"}]
    one = write_table(table.with_name("one.csv"), rows)
    space, chunks, _ = table_chunks(one, Schema.from_dict(model.table_plan_))
    (chunk,) = chunks
    names = [list(space.names)[column] for column in chunk.indices]
    asked = ("--bucket", "note=Fever", "--bucket", "town=Graz", "--bucket", "note=well, tired")
    found = json.loads(good("inspect", trained, *asked, "--json"))["buckets"]
    entries = [(of["column"], of["entry"]) for of in found]
    assert entries == [("note", "fever"), ("town", "Graz"), ("note", "well"), ("note", "tired")]
    assert {of["feature"] for of in found[:2]} == {name for name in names if "#" in name}
    every = list(model.feature_names_in_)
    for of in found:
        assert of["coefficients"] == [model.coef_[0, every.index(of["feature"])]]
    assert any(of["coefficients"] != [0.0] for of in found)
    out = good("inspect", trained, *asked)
    weight = found[0]["coefficients"][0]
    assert re.search(rf"^note +fever +{found[0]['feature']} +{weight:.6g}$", out, re.M)


def test_every_class_has_its_coefficient(tmp_path, good):
    rows = [{**row, "sick": ["no", "yes", "maybe"][k % 3]} for k, row in enumerate(people())]
    data, path = write_table(tmp_path / "three.csv", rows), tmp_path / "model.dpl"
    good("train", data, "-o", path, *TABLE, "--classes", "maybe,no,yes", *FEW)
    out = good("inspect", path, "--bucket", "town=Ulm")
    assert re.search(r"entry +feature +for maybe +for no +for yes", out)
    values = [f"{value:.6g} for {c}" for value, c in zip(*attributes(load(path)), strict=True)]
    assert f"intercept  {', '.join(values)}" in out
    (found,) = json.loads(good("inspect", path, "--bucket", "town=Ulm", "--json"))["buckets"]
    assert len(found["coefficients"]) == 3


def attributes(model):
    return model.intercept_.tolist(), model.classes_.tolist()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("note", "must be column=entry"),
        ("age=7", "those are 'town', 'note'"),
        ("note=!", "holds no word"),
    ],
)
def test_a_bucket_that_cannot_be_told_is_refused_with_a_remedy(trained, run, asked, said):
    done = run("inspect", trained, "--bucket", asked)
    assert done.code == 1 and said in done.err and done.out == ""


def test_other_files_have_no_buckets(tmp_path, model, text, good, run):
    done = run("inspect", model, "--bucket", "note=fever")
    assert done.code == 1 and "trained from a table" in done.err
    good("convert", text, "-o", tmp_path / "x.dpc", "--features", 40)
    assert "column store" in run("inspect", tmp_path / "x.dpc", "--bucket", "a=b").err


def test_a_store_that_was_not_checked_says_how_to(tmp_path, text, good):
    store = tmp_path / "x.dpc"
    good("convert", text, "-o", store, "--features", 40)
    assert "not checked (use --verify)" in good("inspect", store)
    assert "yes, every byte" in good("inspect", store, "--verify")
    assert json.loads(good("inspect", store, "--json"))["verified"] is False


def test_names_of_columns_may_hold_the_sign_that_ends_them(tmp_path, good):
    rng = np.random.default_rng(0)
    rows = [
        {"a": "xyz"[rng.integers(3)], "a=b": "xyz"[rng.integers(3)], "y": "no" if k % 2 else "yes"}
        for k in range(100)
    ]
    data, path = write_table(tmp_path / "odd.csv", rows), tmp_path / "model.dpl"
    hashed = ("--target", "y", "--hash", "a=8", "--classes", "no,yes")
    good("train", data, "-o", path, *hashed, *FEW)
    asked = ("--bucket", "a=b=y", "--bucket", "a=y")
    found = json.loads(good("inspect", path, *asked, "--json"))["buckets"]
    assert [(of["column"], of["entry"]) for of in found] == [("a=b", "y"), ("a", "y")]
