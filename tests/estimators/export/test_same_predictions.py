"""Exported models predict what the models predict, for every row map, bound and outcome."""

import json
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn import config_context
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDClassifier

import dplasso
from dplasso import (
    PrivateLassoClassifier,
    PrivateLassoRegressor,
    PrivateOnlineClassifier,
    PrivateOnlineRegressor,
)
from dplasso.data.bounds import ColumnBounds
from dplasso.data.row_maps import ROW_MAPS
from dplasso.data.sparse_bounds import SparseBounds
from dplasso.fitting.row_reader import RowReader
from exported import (
    FORMS,
    assert_same,
    assert_same_onnx,
    made_model,
    onnx_outputs,
    outcome,
    plain_reader,
)

COLUMNS = 5
EARLIER = sorted((Path(__file__).parent.parent / "data").glob("*.dpl"))
# Runs a command in which dplasso cannot be imported.
BLOCKED = "import sys; sys.modules['dplasso'] = None\n"

entries = st.one_of(
    st.just(0.0), st.floats(-8.0, 8.0, allow_subnormal=False).map(lambda x: round(x, 3))
)
matrices = st.integers(1, 6).flatmap(
    lambda rows: hnp.arrays(np.float64, (rows, COLUMNS), elements=entries)
)
wide = st.tuples(st.floats(-3.0, 3.0), st.floats(0.01, 5.0)).map(lambda p: (p[0], p[0] + p[1]))
# The range of an indicator, one whose ends meet, and ones in which 0.125 and 1 round to the even.
pairs = st.one_of(wide, st.sampled_from([(0.0, 1.0), (2.0, 2.0), (0.0, 2.0**22), (-7.0, 2.0**24)]))
positive = st.floats(0.1, 4.0)
bounds = st.one_of(
    positive,
    st.lists(positive, min_size=COLUMNS, max_size=COLUMNS).map(np.array),
    st.lists(st.one_of(positive, pairs), min_size=COLUMNS, max_size=COLUMNS),
    pairs.map(lambda pair: SparseBounds(COLUMNS, {1: 3.0}, {2: pair})),
)


@st.composite
def models(draw):
    """Any model that a solver could return."""
    chosen = draw(st.one_of(st.none(), st.just(np.array([3, 1]))))
    unit = chosen is not None or draw(st.booleans())
    row_map, cuts = draw(st.sampled_from(ROW_MAPS)), not unit and draw(st.booleans())
    x_bound = draw(bounds)
    centres = ColumnBounds.of(x_bound, COLUMNS).ranges is not None and draw(st.booleans())
    room = draw(st.sampled_from([1.0, 3.0])) if cuts and not centres else 1.0
    cuts = cuts or centres
    reader = RowReader(row_map, COLUMNS, x_bound, unit, chosen, cuts, room, centres)
    kind = draw(st.sampled_from(["logistic", "hinge", "softmax", "numbers"]))
    outputs = 3 if kind == "softmax" else 1
    numbers = st.one_of(st.just(0.0), st.floats(-5.0, 5.0, allow_subnormal=False))
    weights = draw(hnp.arrays(np.float64, (outputs, COLUMNS), elements=numbers))
    intercepts = draw(hnp.arrays(np.float64, outputs, elements=numbers))
    loss = "hinge" if kind == "hinge" else "logistic"
    y_bound = draw(wide) if kind == "numbers" else None
    return made_model(reader, weights, intercepts, loss=loss, y_bound=y_bound)


@settings(deadline=None, max_examples=60)
@given(models(), matrices, st.sampled_from(FORMS), st.booleans())
def test_a_scikit_learn_object_predicts_the_same(model, X, form, sparsified):
    if sparsified:
        model.sparsify()
    rows = form(X)
    kept = rows.copy()
    assert_same(model.to_sklearn(), model, rows)
    assert np.array_equal(sp.csr_array(rows).toarray(), sp.csr_array(kept).toarray())


@settings(deadline=None, max_examples=60)
@given(models(), matrices, st.sampled_from(["all", "used", "entries"]))
def test_an_onnx_file_predicts_the_same(model, X, inputs):
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/model.onnx"
        if inputs == "used" and model._portable().steps.columns is None:
            with pytest.raises(ValueError, match="all columns count; pass inputs='entries'"):
                model.to_onnx(path, inputs=inputs)
            return
        assert model.to_onnx(path, inputs=inputs) == inputs
        assert_same_onnx(path, model, X)


@pytest.fixture(scope="module")
def fits():
    """Models of every solver, and rows that reach beyond their bounds."""
    rng = np.random.default_rng(0)
    X = np.round(3.0 * rng.normal(size=(200, 12)) * (rng.random((200, 12)) < 0.5), 2)
    ranges = [(1.0, 3.0) if j % 2 else (-1.0, 0.5) for j in range(12)]
    found = []
    for solver in ("frank_wolfe", "gradient", "table"):
        for row_map in ROW_MAPS:
            public = {"n_rows": 200, "x_bound": ranges, "solver": solver, "row_map": row_map}
            y, z = rng.integers(0, 3, 200), rng.random(200)
            found.append(PrivateLassoClassifier(9.0, classes=[0, 1, 2], **public).fit(X, y))
            found.append(PrivateLassoClassifier(9.0, classes=[True, False], **public).fit(X, y > 0))
            found.append(PrivateLassoRegressor(9.0, y_bound=(0.2, 0.6), **public).fit(X, z))
    return found, X


@pytest.fixture(scope="module")
def streams():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), rng.integers(0, 3, 300)
    X[0] = 0.0
    found = []
    for row_map in ("unit", "as_is"):
        for intercept in (True, False):
            given = {"row_map": row_map, "fit_intercept": intercept, "n_rows": 300}
            for classes in ([0, 1], [0, 1, 2]):
                model = PrivateOnlineClassifier(9.0, classes=classes, **given)
                found.append(model.fit(X, np.minimum(y, len(classes) - 1)))
            found.append(PrivateOnlineClassifier(9.0, loss="hinge", classes=[0, 1, 2], **given))
            found[-1].fit(X, y)
            found.append(PrivateOnlineRegressor(9.0, y_bound=1.0, **given).fit(X, y - 1.0))
    return found, X


@pytest.mark.parametrize("kind", ["fits", "streams"])
def test_models_of_every_solver_and_stream_are_exported(kind, request, tmp_path):
    found, X = request.getfixturevalue(kind)
    for model in found:
        assert_same(model.to_sklearn(), model, sp.csr_array(X))
        model.to_onnx(tmp_path / "model.onnx")
        assert_same_onnx(tmp_path / "model.onnx", model, X)


def test_rows_of_a_stream_may_be_larger_than_a_square_root_of_the_largest_number(streams, tmp_path):
    found, X = streams
    model, rows = found[0], 1e200 * X[1:]
    assert_same(model.to_sklearn(), model, rows)
    model.to_onnx(tmp_path / "model.onnx")
    assert_same_onnx(tmp_path / "model.onnx", model, rows)


def test_small_probabilities_keep_their_digits_in_onnx(tmp_path):
    model = made_model(plain_reader(1), [[1.0]], [0.0])
    model.to_onnx(tmp_path / "model.onnx")
    X = np.linspace(-600.0, 600.0, 41)[:, None]
    found = onnx_outputs(tmp_path / "model.onnx", X)["probabilities"]
    np.testing.assert_allclose(found, model.predict_proba(X), rtol=1e-12, atol=0.0)


def test_labels_have_their_own_type_in_onnx(tmp_path):
    for labels in (["no", "yes"], [3, 7], [-1.0, 0.5], [False, True]):
        model = made_model(plain_reader(2), [[1.0, -1.0]], [0.0])
        model.classes_ = np.array(labels)
        model.to_onnx(tmp_path / "model.onnx")
        found = onnx_outputs(tmp_path / "model.onnx", np.array([[1.0, 0.0], [0.0, 1.0]]))["label"]
        assert found.tolist() == labels[::-1] and type(found.tolist()[0]) is type(labels[0])
    model.classes_ = np.array([b"a", b"b"])
    with pytest.raises(ValueError, match="classes must be texts"):
        model.to_onnx(tmp_path / "model.onnx")


@pytest.mark.parametrize("path", EARLIER, ids=lambda path: path.stem)
def test_files_of_earlier_versions_are_exported(path, tmp_path):
    model = dplasso.load(path)
    rng = np.random.default_rng(9)
    X = rng.integers(-8, 9, (12, model.n_features_in_)) / 4.0
    for form in FORMS:
        assert_same(model.to_sklearn(), model, form(X))
    for inputs in ("all", "entries"):
        model.to_onnx(tmp_path / "model.onnx", inputs=inputs)
        assert_same_onnx(tmp_path / "model.onnx", model, X)


def test_scikit_learn_objects_work_where_dplasso_cannot_be_imported(fits, streams, tmp_path):
    import pickle

    cases = []
    for found, X in (fits, streams):
        for model in found:
            plain = model.to_sklearn()
            cases.append((plain, X, outcome(model, X), model.predict(X)))
    (tmp_path / "cases").write_bytes(pickle.dumps(cases))
    script = BLOCKED + (
        "import pickle, numpy as np, scipy.sparse as sp\n"
        "cases = pickle.load(open(sys.argv[1], 'rb'))\n"
        "for plain, X, expected, labels in cases:\n"
        "    for rows in (X, sp.csr_array(X)):\n"
        "        if hasattr(plain, 'predict_proba'):\n"
        "            found = plain.predict_proba(rows)\n"
        "        elif hasattr(plain, 'decision_function'):\n"
        "            found = plain.decision_function(rows)\n"
        "        else:\n"
        "            found = plain.predict(rows)\n"
        "        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)\n"
        "        np.testing.assert_allclose(plain.predict(rows), labels, rtol=1e-12, atol=1e-12)\n"
        "    assert plain.privacy_['epsilon'] == 9.0 and plain.privacy_text_\n"
        "assert sum(name.startswith('dplasso') for name in sys.modules) == 1\n"
        "print(len(cases))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "cases"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == len(cases)


def test_a_model_of_plain_rows_is_a_plain_linear_model(streams):
    plain = made_model(plain_reader(2), [[1.0, -1.0]], [0.5]).to_sklearn()
    assert type(plain) is LogisticRegression and plain.coef_.tolist() == [[1.0, -1.0]]
    several = [model for model in streams[0] if len(getattr(model, "classes_", ())) == 3]
    kinds = {type(model.to_sklearn()) for model in several if model.row_map == "as_is"}
    assert SGDClassifier in kinds
    number = PrivateOnlineRegressor(9.0, n_rows=9, y_bound=1.0, row_map="as_is")
    assert type(number.fit(streams[1][:9], np.zeros(9)).to_sklearn()) is LinearRegression


def test_what_scikit_learn_is_set_to_return_does_not_matter(fits):
    found, X = fits
    with config_context(transform_output="pandas"):
        for model in found:
            assert_same(model.to_sklearn(), model, X)


def test_names_of_columns_are_checked_by_the_exported_object():
    names = ["age", "height", "weight", "score", "size"]
    reader = RowReader("sqrt", COLUMNS, 1.0, unit_rows=True)
    model = made_model(reader, np.ones((1, COLUMNS)), [0.0], names=names)
    plain = model.to_sklearn()
    frame = pd.DataFrame(np.eye(COLUMNS), columns=names)
    assert_same(plain, model, frame)
    assert plain.feature_names_in_.tolist() == names
    with pytest.raises(ValueError, match="feature names"):
        plain.predict(frame[names[::-1]])
    with pytest.raises(ValueError, match="NaN"):
        plain.predict(frame.replace(1.0, np.nan))
    del model.feature_names_in_
    with pytest.raises(ValueError, match="4 features"):
        model.to_sklearn().predict(np.eye(COLUMNS - 1))


def test_wide_models_take_used_columns_or_entries(tmp_path):
    columns, path = 2_000_000, tmp_path / "model.onnx"
    weights = sp.csr_array(([2.0, -1.0], ([0, 0], [7, 1_999_999])), shape=(1, columns))
    for unit, inputs in ((False, "used"), (True, "entries")):
        reader = RowReader("as_is", columns, 1.0, unit_rows=unit)
        model = made_model(replace(reader, n_features=2), [[0.0, 0.0]], [0.25])
        model.n_features_in_ = columns
        model.restore(replace(model.fitted_, weights=weights, reader=reader))
        assert model.to_onnx(path) == inputs
        X = sp.csr_array(([1.0, 3.0, 0.5], ([0, 0, 1], [7, 9, 1_999_999])), shape=(2, columns))
        found = _of_wide(path, X)
        np.testing.assert_allclose(found, model.predict_proba(X), rtol=1e-12)
        assert_same(model.to_sklearn(), model, X)


@pytest.mark.parametrize("row_map", ROW_MAPS)
def test_entries_count_zeros_of_centred_columns(row_map, tmp_path):
    columns, path = 300_000, tmp_path / "model.onnx"
    x_bound = SparseBounds(columns, {7: 2010.0, 9: 3.0}, {7: (2000.0, 2010.0), 8: (0.0, 1.0)})
    reader = RowReader(row_map, columns, x_bound, unit_rows=True, cuts=True, centres=True)
    places = ([0] * 4, [7, 8, 9, columns - 1])
    weights = sp.csr_array(([2.0, -1.0, 0.5, 3.0], places), shape=(1, columns))
    model = made_model(replace(reader, n_features=2, x_bound=1.0), [[0.0, 0.0]], [0.25])
    model.n_features_in_ = columns
    model.restore(replace(model.fitted_, weights=weights, reader=reader))
    assert model.to_onnx(path) == "entries"
    # The year is absent from the second row, and both columns with ranges from the third.
    entries = ([2003.0, 1.0, 2.0, 0.5, 1.0, 1.0], ([0, 0, 0, 1, 1, 2], [7, 8, 9, 8, 11, 11]))
    X = sp.csr_array(entries, shape=(3, columns))
    assert_same(model.to_sklearn(), model, X)
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    given = {
        "columns": np.array([[7, 8, 9], [11, 8, 7], [11, 7, 0]]),
        "values": np.array([[2003.0, 1.0, 2.0], [1.0, 0.5, 0.0], [1.0, 0.0, 0.0]]),
    }
    found = session.run(["probabilities"], given)[0]
    np.testing.assert_allclose(found, model.predict_proba(X), rtol=1e-12)


@settings(deadline=None, max_examples=20)
@given(hnp.arrays(np.float64, (5, 2), elements=st.floats(-3e6, 9e6)), st.sampled_from(FORMS))
def test_entries_half_way_between_cells_round_to_the_even_one(X, form):
    ranges = [(0.0, 2.0**24), (-1.0, 2.0**23 - 1.0)]
    reader = RowReader("presence", 2, ranges, cuts=True, centres=True)
    # A cell is 1 or a half wide; one more or less changes a margin by 1 or 2.
    model = made_model(reader, [[2.0**23, 2.0**24]], [0.0])
    rows = form(np.round(4.0 * X) / 4.0)
    found, expected = model.to_sklearn(), model.decision_function(rows)
    assert np.array_equal(found.decision_function(rows), expected)
    with tempfile.TemporaryDirectory() as folder:
        model.to_onnx(f"{folder}/model.onnx")
        assert_same_onnx(f"{folder}/model.onnx", model, np.round(4.0 * X) / 4.0)


def test_new_rows_are_cut_to_three_times_a_released_bound(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2_000, 3)), rng.integers(0, 2, 2_000)
    given = {"classes": [0, 1], "n_rows": 2_000, "solver": "frank_wolfe", "row_map": "as_is"}
    model = PrivateLassoClassifier(20.0, x_bound="private", **given).fit(X, y + 5 * X[:, 0] > 0)
    assert model.fitted_.reader.room == 3.0
    bound = model.fitted_.reader.x_bound
    rows = bound * np.array([[2.5, 0.0, -2.5], [3.0, -3.0, 0.0], [70.0, 1.0, -9.0]])
    cut = np.clip(rows, -3.0 * bound, 3.0 * bound)
    assert np.array_equal(model.decision_function(rows), model.decision_function(cut))
    assert_same(model.to_sklearn(), model, rows)
    model.to_onnx(tmp_path / "model.onnx")
    assert_same_onnx(tmp_path / "model.onnx", model, rows)


def _of_wide(path, X):
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    said = session.get_modelmeta().custom_metadata_map
    if said["inputs"] == "used":
        given = {"X": X[:, json.loads(said["columns"])].toarray()}
    else:
        given = {
            "columns": np.array([[7, 9], [1_999_999, 0]]),
            "values": np.array([[1.0, 3.0], [0.5, 0.0]]),
        }
    return session.run(["probabilities"], given)[0]


def test_a_model_too_wide_for_the_format_is_refused_with_what_it_would_need(tmp_path):
    columns = 200_000_000
    reader = RowReader("presence", columns, 1.0, unit_rows=True)
    weights = sp.csr_array(([2.0], ([0], [7])), shape=(1, columns))
    model = made_model(replace(reader, n_features=2), [[0.0, 0.0]], [0.25])
    model.n_features_in_ = columns
    model.restore(replace(model.fitted_, weights=weights, reader=reader))
    with pytest.raises(ValueError, match=r"200,000,000 columns would need about .* GiB"):
        model.to_onnx(tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_a_model_that_centres_columns_among_too_many_is_refused(tmp_path):
    columns = 10**13
    x_bound = SparseBounds(columns, {}, {8: (0.0, 5.0)})
    reader = RowReader("presence", columns, x_bound, unit_rows=True, cuts=True, centres=True)
    model = made_model(RowReader("presence", 2, 1.0, unit_rows=True), [[0.0, 0.0]], [0.25])
    weights = sp.csr_array(([2.0], ([0], [7])), shape=(1, columns))
    model.n_features_in_ = columns
    model.restore(replace(model.fitted_, weights=weights, reader=reader))
    for export in (model.to_sklearn, lambda: model.to_onnx(tmp_path / "model.onnx")):
        with pytest.raises(ValueError, match=r"columns by their bounds would need about .* TiB"):
            export()
    assert not list(tmp_path.iterdir())
