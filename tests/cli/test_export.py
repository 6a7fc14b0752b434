"""``dplasso export``: models for programs that do not have dplasso."""

import csv
import json
import pickle
import stat
import sys

import numpy as np
import onnx
import pytest

from commanding import TABLE, people, problem, write_table
from dplasso import load
from exported import assert_same, assert_same_onnx, onnx_outputs


def test_the_name_of_the_output_tells_the_format(tmp_path, good, model):
    X, _ = problem()
    fitted = load(model)
    said = good("export", model, "-o", tmp_path / "model.onnx")
    assert "takes all 40 columns as X in double precision" in said
    assert_same_onnx(tmp_path / "model.onnx", fitted, X.toarray())
    assert "runs code" in good("export", model, "-o", tmp_path / "model.pkl")
    assert_same(pickle.loads((tmp_path / "model.pkl").read_bytes()), fitted, X)
    good("export", model, "-o", tmp_path / "model.csv")
    rows = list(csv.DictReader((tmp_path / "model.csv").read_text().splitlines()))
    assert float(rows[0]["coefficient"]) == fitted.intercept_[0]
    assert len(rows) == 1 + fitted.fitted_.weights.nnz
    stated = json.loads((tmp_path / "model.csv.privacy.json").read_text())
    assert stated["privacy"]["epsilon"] == 1.0


def test_a_format_may_be_given_and_files_are_replaced(tmp_path, good, model):
    for form in ("csv", "sklearn", "onnx"):
        path, given = tmp_path / form, ("--format", form, "--quiet")
        good("export", model, "-o", path, *given)
        before = path.read_bytes()
        assert stat.S_IMODE(path.stat().st_mode) & 0o044  # as public as the model
        good("export", model, "-o", path, *given, "--force")
        assert path.read_bytes() == before


def test_a_model_of_a_table_is_exported_with_the_names_of_its_features(tmp_path, good):
    data, path = write_table(tmp_path / "people.csv", people()), tmp_path / "model.dpl"
    good("train", data, "-o", path, *TABLE, "--classes", "no,yes", "--rows", 200, "--quiet")
    good("export", path, "-o", tmp_path / "model.onnx")
    fitted = load(path)
    said = {entry.key: entry.value for entry in onnx.load(tmp_path / "model.onnx").metadata_props}
    assert json.loads(said["feature_names"]) == list(fitted.feature_names_in_)
    X = np.zeros((2, fitted.n_features_in_))
    X[1, 0] = 80.0
    found = onnx_outputs(tmp_path / "model.onnx", X)["probabilities"]
    del fitted.feature_names_in_  # X has none
    np.testing.assert_allclose(found, fitted.predict_proba(X), rtol=1e-12)


def test_a_snapshot_of_a_stream_is_exported(tmp_path, good, text):
    folder, snapshot = tmp_path / "stream", tmp_path / "snapshot.dpl"
    given = ("--features", 40, "--classes", "-1,1", "--window", 100)
    good("online", text, "--state", folder, "--model", snapshot, *given, "--quiet")
    good("export", snapshot, "-o", tmp_path / "model.onnx")
    assert_same_onnx(tmp_path / "model.onnx", load(snapshot), problem()[0].toarray())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["-o", "model.txt"], "ends with none of .onnx"),
        (["-o", "model.onnx", "--format", "pdf"], "--format must be one of onnx, sklearn, csv"),
        (["-o", "model.csv", "--inputs", "used"], "--inputs is for --format onnx"),
        (["-o", "model.onnx", "--inputs", "few"], "--inputs must be one of auto, all"),
        (["-o", "missing/model.onnx"], "cannot be written"),
    ],
)
def test_what_cannot_be_written_is_refused_and_nothing_is_left(
    tmp_path, monkeypatch, run, model, given, said
):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    done = run("export", model, *given)
    assert done.code != 0 and said in done.err
    assert sorted(tmp_path.iterdir()) == before


def test_a_missing_extra_is_named(tmp_path, monkeypatch, run, model):
    monkeypatch.setitem(sys.modules, "onnx", None)
    done = run("export", model, "-o", tmp_path / "model.onnx")
    assert done.code == 2 and "pip install 'dplasso[onnx]'" in done.err
    assert not (tmp_path / "model.onnx").exists()


def test_the_model_itself_is_not_replaced(tmp_path, run, model):
    before = model.read_bytes()
    done = run("export", model, "-o", model, "--format", "csv")
    assert done.code == 1 and "also an input" in done.err and model.read_bytes() == before


def test_used_columns_are_not_enough_where_the_length_of_a_row_counts(tmp_path, run, good, text):
    path, known = tmp_path / "unit.dpl", ("--features", 40, "--classes", "-1,1", "--rows", 300)
    good("train", text, "-o", path, *known, "--solver", "gradient", "--quiet")
    done = run("export", path, "-o", tmp_path / "model.onnx", "--inputs", "used")
    assert done.code == 1 and "pass --inputs entries" in done.err
    assert not (tmp_path / "model.onnx").exists()
