"""Model files that earlier code wrote load, and predict the same to the last bit.

The files in data/ were written at commit 74ad12d, before fits had plans; expected.json has what
those models predicted then.
"""

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import dplasso
from dplasso.report import render

DATA = Path(__file__).parent / "data"
EXPECTED = json.loads((DATA / "expected.json").read_text())
# Parameters that estimators have since then, with the values that earlier models mean.
PEOPLE = {"n_people": None, "rows_per_person": 1, "person": None}
RUNNING = {"device": "cpu", "backend": "local"}
LATER = {
    "PrivateLassoClassifier": {"loss": "logistic", "class_weight": None, **PEOPLE, **RUNNING},
    "PrivateLassoRegressor": PEOPLE | RUNNING,
}
FORMER = {"rows": "row_map"}  # names that have changed since then


def new_rows(columns):
    """The rows that were predicted then."""
    rng = np.random.default_rng(9)
    X = (
        rng.integers(-8, 9, (12, columns))
        / 4.0
        * (rng.random((12, columns)) < min(1, 12 / columns))
    )
    return sp.csr_array(X)


def margins_of(model, rows):
    if hasattr(model, "decision_function"):
        return model.decision_function(rows)
    return model.predict(rows)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_file_of_earlier_code_predicts_the_same_up_to_rounding(name):
    model, expected = dplasso.load(DATA / f"{name}.dpl"), EXPECTED[name]
    assert (model.solver_, model.row_map_) == (expected["solver"], expected["rows"])
    rows = new_rows(model.n_features_in_)
    for given in (rows, rows.toarray(), rows.tocsc()):
        margins = np.asarray(margins_of(model, given)).ravel()
        then = np.array([float.fromhex(margin) for margin in expected["margins"]])
        if not hasattr(model, "decision_function"):  # later code clips predictions, as labels are
            then = np.clip(then, -model.y_bound, model.y_bound)
        # Rows of length 1 are divided by their length after their entries are added up, not before.
        np.testing.assert_allclose(margins, then, rtol=1e-13, atol=1e-15)
    fitted = model.fitted_
    found = (fitted.weights.nnz, fitted.steps, len(fitted.released))
    assert found == (expected["nonzeros"], expected["steps"], expected["released"])


@pytest.mark.parametrize("name", EXPECTED)
def test_a_file_of_earlier_code_is_written_again_with_later_parameters_only(name, tmp_path):
    model = dplasso.load(DATA / f"{name}.dpl")
    model.save(tmp_path / "again.dpl")
    before, after = (parts_of(path) for path in (DATA / f"{name}.dpl", tmp_path / "again.dpl"))
    then = before["header.json"]
    if (kept := then["parameters"].pop("sparsify", None)) is not None:
        then["parameters"]["n_nonzero"] = kept
    for names in (then["parameters"], then["privacy"], then["privacy"]["public"]):
        names |= {FORMER[name]: names.pop(name) for name in FORMER.keys() & names.keys()}
    for parameter, default in LATER.get(type(model).__name__, {}).items():
        assert after["header.json"]["parameters"].pop(parameter) == default
    assert after == before


def parts_of(path):
    """The parts of a model file by name; the header as what its JSON says."""
    content = path.read_bytes()
    with zipfile.ZipFile(io.BytesIO(content[content.index(b"PK") :])) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    return parts | {"header.json": json.loads(parts["header.json"])}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_file_of_earlier_code_has_a_report(name):
    model = dplasso.load(DATA / f"{name}.dpl")
    assert "How to verify the model" in render(model, model_file=DATA / f"{name}.dpl")
