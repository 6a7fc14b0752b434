"""Column stores give the models that their sources give."""

import json
import os

import numpy as np
import pytest
import scipy.sparse as sp

from commanding import (
    COLUMNS,
    FEW,
    KNOWN,
    ROWS,
    TABLE,
    assert_same_model,
    people,
    problem,
    write_svmlight,
    write_table,
)
from dplasso import load
from dplasso.privacy.statement import READ
from dplasso.storage.column_format import sealed


@pytest.mark.parametrize("name", ["rows.svm", "rows.svm.gz"])
@pytest.mark.parametrize("x_bound", [1.0, 0.5, "private"])
def test_a_store_gives_the_model_that_its_text_gives(tmp_path, good, name, x_bound):
    X, y = problem()
    data, store = write_svmlight(tmp_path / name, X, y), tmp_path / "rows.dpc"
    facts = json.loads(good("convert", data, "-o", store, "--features", COLUMNS, "--json"))
    assert facts == {"store": str(store), "rows": ROWS, "columns": COLUMNS, "entries": X.nnz}
    seeded = (*KNOWN, "--seed", 3, "--x-bound", x_bound)
    good("train", data, "-o", tmp_path / "a", *seeded, "--features", COLUMNS)
    good("train", store, "-o", tmp_path / "b", *seeded)
    assert_same_model(load(tmp_path / "b"), load(tmp_path / "a"))
    assert good("predict", tmp_path / "a", store) == good("predict", tmp_path / "a", data)
    both = [good("evaluate", tmp_path / "a", rows, "--public", "-q") for rows in (data, store)]
    assert both == ["", ""]


def test_a_table_in_a_store(tmp_path, good, run):
    """Bounds of the columns and the plan go with it: the same model, which reads other tables."""
    data, store = write_table(tmp_path / "people.csv", people()), tmp_path / "people.dpc"
    good("convert", data, "-o", store, *TABLE, "--classes", "no,yes")
    known = ("--classes", "no,yes", "--seed", 3, *FEW)
    good("train", store, "-o", tmp_path / "a", *known)
    good("train", data, "-o", tmp_path / "b", *TABLE, *known)
    ours, theirs = load(tmp_path / "a"), load(tmp_path / "b")
    assert_same_model(ours, theirs)
    assert ours.classes_.tolist() == ["no", "yes"]
    assert ours.feature_names_in_.tolist() == theirs.feature_names_in_.tolist()
    assert ours.x_bound.max() == 120.0 and ours.table_plan_ == theirs.table_plan_
    predicted = good("predict", tmp_path / "b", data)
    assert good("predict", tmp_path / "a", data) == predicted
    assert good("predict", tmp_path / "a", store) == predicted


def test_a_table_in_a_store_has_its_bounds(tmp_path, good, run):
    data, store = write_table(tmp_path / "people.csv", people()), tmp_path / "people.dpc"
    good("convert", data, "-o", store, *TABLE, "--classes", "no,yes")
    done = run("train", store, "-o", tmp_path / "a", *FEW, "--x-bound", "private")
    assert done.code != 0 and "leave out --x-bound private" in done.err


def test_a_store_remembers_what_was_declared(tmp_path, good, run):
    data, store = write_table(tmp_path / "people.csv", people()), tmp_path / "people.dpc"
    good("convert", data, "-o", store, *TABLE, "--classes", "no,yes", "--rows", 210)
    done = run("train", store, "-o", tmp_path / "a", "--strict")
    assert done.code == 0, done.err
    public = load(tmp_path / "a").privacy_["public"]
    assert public["classes"]["source"] == "declared"
    assert public["n_rows"] == {"value": 210, "source": "declared"}
    run("convert", data, "-o", store, *TABLE, "--force")
    done = run("train", store, "-o", tmp_path / "a", *FEW, "--force")
    assert done.code == 0 and "--classes" in done.err
    assert load(tmp_path / "a").privacy_["public"]["classes"]["source"] == READ


@pytest.mark.parametrize(
    "option",
    [("--target", "smoker"), ("--bounds", "age=0:9"), ("--ignore", "note"), ("--features", 9)],
)
def test_roles_of_a_store_are_those_it_was_converted_with(tmp_path, good, run, option):
    data, store = write_table(tmp_path / "people.csv", people()), tmp_path / "people.dpc"
    good("convert", data, "-o", store, *TABLE, "--classes", "no,yes")
    done = run("train", store, "-o", tmp_path / "a", *option)
    assert done.code == 1 and option[0] in done.err and "convert the source again" in done.err


def test_indices_from_0_are_remembered_by_a_store(tmp_path, good):
    X, y = problem()
    data = write_svmlight(tmp_path / "rows.svm", X, y, base=0)
    store, path = tmp_path / "rows.dpc", tmp_path / "model.dpl"
    good("convert", data, "-o", store, "--features", COLUMNS, "--zero-based")
    good("train", store, "-o", path, *KNOWN)
    assert good("predict", path, data) == good("predict", path, store)


def test_a_store_is_replaced_only_when_asked(tmp_path, text, good, run):
    command = ("convert", text, "-o", tmp_path / "x.dpc", "--features", COLUMNS)
    good(*command)
    done = run(*command)
    assert done.code == 1 and "exists" in done.err
    good(*command, "--force", "--memory", "0.1G")


@pytest.mark.parametrize("size", ["much", "1", "-5G"])
def test_convert_wants_a_sensible_size(tmp_path, text, run, size):
    done = run("convert", text, "-o", tmp_path / "x", "--features", COLUMNS, "--memory", size)
    assert done.code == 1 and "memory" in done.err
    assert os.listdir(tmp_path) == [text.name]


@pytest.mark.parametrize("row", [-1, 10**6])
def test_a_store_with_rows_that_are_not_there_is_refused(tmp_path, text, model, good, run, row):
    """Its digest does not show it: nobody computes that at training."""
    store = tmp_path / "rows.dpc"
    good("convert", text, "-o", store, "--features", COLUMNS)
    indices = np.fromfile(store / "indices.bin", np.int32)
    indices[5] = row
    indices.tofile(store / "indices.bin")
    for command in (("train", store, "-o", tmp_path / "a", *KNOWN), ("predict", model, store)):
        done = run(*command)
        assert done.code == 1 and "incomplete or altered" in done.err
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("part", ["indices", "indptr"])
@pytest.mark.parametrize("form", ["csr", "csc"])
def test_an_archive_with_entries_that_are_not_there_is_refused(tmp_path, model, run, form, part):
    X, y = problem()
    X = X.asformat(form)
    getattr(X, part)[-1] = 10**8
    sp.save_npz(tmp_path / "X.npz", X)
    np.save(tmp_path / "y.npy", y)
    train = ("train", tmp_path / "X.npz", "--labels", tmp_path / "y.npy", "-o", tmp_path / "a")
    for command in ((*train, *KNOWN), ("predict", model, tmp_path / "X.npz")):
        done = run(*command)
        assert done.code == 1 and "rebuild the sparse matrix" in done.err


@pytest.mark.parametrize(
    "source",
    [
        {"plan": {"target": 1}},
        {"plan": [1]},
        {"plan": "x"},
        {"rows": -5},
        {"rows": "many"},
        {"zero_based": "no"},
    ],
)
def test_notes_of_a_store_that_cannot_be_are_refused(tmp_path, text, good, run, source):
    store = tmp_path / "rows.dpc"
    good("convert", text, "-o", store, "--features", COLUMNS)
    header = json.loads((store / "store.json").read_bytes())
    header.pop("sha256")
    (store / "store.json").write_bytes(sealed({**header, "source": source}))
    done = run("train", store, "-o", tmp_path / "a", *KNOWN)
    assert done.code == 1 and "notes about its source" in done.err
