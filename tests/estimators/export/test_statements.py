"""The privacy statement goes with every exported model, and coefficients are safe to open."""

import csv
import io
import json
import os
import pickle

import numpy as np
import onnx
import pytest

from dplasso import PrivateLassoClassifier, PrivateLassoRegressor
from dplasso.fitting.row_reader import RowReader
from dplasso.storage.atomic import replace_file
from dplasso.storage.spreadsheet import unmarked
from exported import made_model, plain_reader


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 6)), rng.integers(0, 2, 300)
    public = {"classes": [0, 1], "n_rows": 300, "x_bound": 3.0, "solver": "gradient"}
    return PrivateLassoClassifier(2.0, **public).fit(X, y)


def test_an_onnx_file_states_what_the_model_promises(model, tmp_path):
    model.to_onnx(tmp_path / "model.onnx")
    found = onnx.load(tmp_path / "model.onnx")
    said = {entry.key: entry.value for entry in found.metadata_props}
    assert json.loads(said["privacy"]) == json.loads(json.dumps(model.privacy_))
    assert said["privacy_text"] == found.doc_string == str(model.privacy_)
    assert found.producer_name == "dplasso"


def test_a_scikit_learn_object_states_it_in_plain_types(model):
    for exported in (model, PrivateLassoRegressor(2.0, n_rows=300, x_bound=1.0, y_bound=1.0)):
        if exported is not model:
            exported.fit(np.eye(300, 3), np.zeros(300))
        plain = pickle.loads(pickle.dumps(exported.to_sklearn()))
        assert type(plain.privacy_) is dict and plain.privacy_ == exported.privacy_
        assert plain.privacy_text_ == str(exported.privacy_)


def test_a_table_of_coefficients_has_its_statement_beside_it(model, tmp_path):
    beside = model.to_csv(tmp_path / "model.csv")
    assert beside == str(tmp_path / "model.csv.privacy.json")
    said = json.loads((tmp_path / "model.csv.privacy.json").read_text())
    assert said["privacy"] == json.loads(json.dumps(model.privacy_))
    assert "The row is divided by its 2-norm." in said["rows"]


def test_an_interrupted_export_leaves_no_table_without_a_statement(model, tmp_path, monkeypatch):
    from dplasso.estimators.export import coefficient_table

    def full(path, *parts, **options):
        if os.fsdecode(path).endswith(".csv"):
            raise OSError(28, "No space left on device")
        replace_file(path, *parts, **options)

    monkeypatch.setattr(coefficient_table, "replace_file", full)
    with pytest.raises(OSError, match="No space"):
        model.to_csv(tmp_path / "model.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["model.csv.privacy.json"]


def rows_of(path):
    return list(csv.reader(io.StringIO(path.read_bytes().decode())))


def test_the_table_gives_the_margins_of_mapped_rows(tmp_path):
    ranges = [(1.0, 3.0), (-1.0, 0.5), (0.0, 9.0)]
    reader = RowReader("as_is", 3, ranges, cuts=True)
    model = made_model(
        reader, [[0.5, 0.0, 2.0], [0.0, 0.0, -1.0], [0.1, 3.0, 0.0]], [1.0, 2.0, 3.0]
    )
    model.to_csv(tmp_path / "model.csv")
    head, *rows = rows_of(tmp_path / "model.csv")
    assert head == ["column", "class", "coefficient", "low", "high"]
    X = np.array([[0.0, 7.0, 1.0], [2.0, -0.5, 0.0]])
    margins = np.zeros((2, 3))
    places = {f"class {k}": k for k in range(3)}
    for column, label, value, low, high in rows:
        if column == "(intercept)":
            margins[:, places[label]] += float(value)
        else:
            cut = np.clip(X[:, int(column)], float(low), float(high))
            margins[:, places[label]] += float(value) * cut
    np.testing.assert_allclose(margins, model.decision_function(X), rtol=1e-12)
    assert len(rows) == 3 + 5  # coefficients that are 0 are left out


def test_the_table_has_the_ranges_by_which_columns_are_centred(tmp_path):
    ranges = [(2000.0, 2010.0), 4.0, (0.0, 1.0), (3.0, 3.0)]
    reader = RowReader("sqrt", 4, ranges, cuts=True, centres=True)
    model = made_model(reader, [[0.5, 2.0, -1.0, 7.0]], [0.25])
    model.to_csv(tmp_path / "model.csv")
    head, intercept, *rows = rows_of(tmp_path / "model.csv")
    assert head[3:] == ["low", "high"] and intercept[3:] == ["", ""]
    said = json.loads((tmp_path / "model.csv.privacy.json").read_text())["rows"]
    assert said[0].startswith("An entry x of a column with a range from low to high becomes 2 (x")
    assert "Entries of another column are divided by 44.8" in said[-1]
    X = np.array([[2003.0, 1.0, 1.0, 0.0], [1990.0, -9.0, 0.0, 3.0]])
    margins = np.full(2, float(intercept[2]))
    for column, _, value, low, high in rows:
        entries = X[:, int(column)]
        if not low:  # the square root of what is at most 4, over that of 4
            entries = np.sign(entries) * np.sqrt(np.minimum(np.abs(entries), 4.0) / 4.0)
        elif low == high:
            entries = np.zeros(2)
        elif (float(low), float(high)) != (0.0, 1.0):
            low, high = float(low), float(high)
            entries = 2.0 * (np.clip(entries, low, high) - low) / (high - low) - 1.0
        margins += float(value) * entries
    np.testing.assert_allclose(margins, model.decision_function(X), atol=1e-6)


def test_names_that_a_spreadsheet_would_run_are_marked(tmp_path):
    names = ["=HYPERLINK(1)", "a,b", 'say "hi"', "two\nlines"]
    model = made_model(plain_reader(4), [[1.0, -2.0, 3.0, 1e-300]], [0.0], names=names)
    model.classes_ = np.array(["@no", "+yes"])
    model.to_csv(tmp_path / "model.csv")
    _, intercept, *rows = rows_of(tmp_path / "model.csv")
    assert intercept == ["(intercept)", "'+yes", "0.0"]
    assert [unmarked(column) for column, _, _ in rows] == names
    assert [float(value) for _, _, value in rows] == [1.0, -2.0, 3.0, 1e-300]
    assert not any(cell.startswith(("=", "+", "@")) for row in rows for cell in row)


def test_models_that_are_not_fitted_are_refused():
    for call in ("to_sklearn", "to_onnx", "to_csv"):
        with pytest.raises(ValueError, match="not fitted"):
            getattr(PrivateLassoClassifier(), call)(*([] if call == "to_sklearn" else ["model"]))
