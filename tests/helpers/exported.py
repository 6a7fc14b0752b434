"""Models to export, what they predict, and what exported files predict."""

import json

import numpy as np
import onnxruntime
import scipy.sparse as sp

from dplasso import PrivateLassoClassifier, PrivateLassoRegressor
from dplasso.fitting.fitted import Fitted
from dplasso.fitting.row_reader import RowReader
from dplasso.privacy.statement import PrivacyStatement

FORMS = (np.asarray, sp.csr_array, sp.csc_matrix, sp.coo_array)
TIGHT = 1e-12


def made_model(reader, weights, intercepts, *, loss="logistic", y_bound=None, names=None):
    """A model with these weights, as if a solver had found them: one output per row of weights."""
    stated = PrivacyStatement(model="Model", epsilon="inf", delta=1e-6, bounds={}, public={})
    if y_bound is None:
        outputs = len(weights)
        labels = ["no", "yes"] if outputs == 1 else [f"class {k}" for k in range(outputs)]
        model = PrivateLassoClassifier(classes=labels, loss=loss)
        model.classes_ = np.array(labels)
    else:
        model = PrivateLassoRegressor(y_bound=y_bound)
    model.n_features_in_, model.privacy_ = reader.n_features, stated
    if names is not None:
        model.feature_names_in_ = np.array(names, object)
    none = np.empty((0, 2), np.int64)
    held = sp.csr_array(np.asarray(weights, np.float64))
    return model.restore(Fitted("made", held, np.asarray(intercepts, float), none, 1, reader))


def plain_reader(columns):
    return RowReader("as_is", columns, 1.0)


def outcome(model, rows):
    """What a model predicts: probabilities, margins or numbers, whichever it has."""
    for name in ("predict_proba", "decision_function", "predict"):
        if hasattr(model, name):
            return getattr(model, name)(rows)
    raise AssertionError


def assert_same(found, model, rows):
    """Assert that an object of scikit-learn predicts what the model predicts."""
    if hasattr(model, "classes_"):
        margins = model.decision_function(rows)
        near = TIGHT * max(1.0, np.abs(margins).max())
        np.testing.assert_allclose(found.decision_function(rows), margins, rtol=TIGHT, atol=near)
        clear = np.abs(margins) > near if margins.ndim == 1 else _clear(margins, near)
        assert np.array_equal(found.predict(rows)[clear], model.predict(rows)[clear])
        assert found.classes_.tolist() == model.classes_.tolist()
    assert hasattr(found, "predict_proba") == hasattr(model, "predict_proba")
    np.testing.assert_allclose(outcome(found, rows), outcome(model, rows), rtol=TIGHT, atol=TIGHT)


def assert_same_onnx(path, model, X):
    """Assert that an ONNX file predicts what the model predicts of dense rows."""
    found, expected = onnx_outputs(path, X), outcome(model, X)
    if not hasattr(model, "classes_"):
        assert found.keys() == {"variable"}
        np.testing.assert_allclose(found["variable"][:, 0], expected, rtol=TIGHT, atol=TIGHT)
        return
    margins = model.decision_function(X)
    near = TIGHT * max(1.0, np.abs(margins).max())
    clear = np.abs(margins) > near if margins.ndim == 1 else _clear(margins, near)
    assert np.array_equal(found["label"][clear], model.predict(X)[clear])
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(found["probabilities"], expected, rtol=TIGHT, atol=TIGHT)
    else:
        shown = found["scores"][:, 0] if margins.ndim == 1 else found["scores"]
        np.testing.assert_allclose(shown, margins, rtol=TIGHT, atol=near)


def onnx_outputs(path, X):
    """What an ONNX file predicts of dense rows, which are given in the form that it asks for."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    said = session.get_modelmeta().custom_metadata_map
    if said["inputs"] == "entries":
        given = dict(zip(("columns", "values"), entries_of(X), strict=True))
    else:
        given = {"X": X[:, json.loads(said["columns"])] if said["inputs"] == "used" else X}
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, given), strict=True))


def entries_of(X):
    """Columns and values of rows, filled up with values of 0 to equal numbers of entries."""
    X = np.asarray(X, np.float64)
    most = max(1, int((X != 0).sum(axis=1).max()))
    columns, values = np.zeros((len(X), most), np.int64), np.zeros((len(X), most))
    for k, row in enumerate(X):
        there = np.flatnonzero(row)
        columns[k, : len(there)], values[k, : len(there)] = there, row[there]
    return columns, values


def _clear(margins, near):
    first, second = np.sort(margins, axis=1)[:, ::-1][:, :2].T
    return first - second > near
