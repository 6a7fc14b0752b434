"""A store is the rows transposed; fits from it are those from memory."""

import hashlib
import json
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso import ColumnMatrix, PrivacyLeakWarning, PrivateLassoClassifier
from dplasso.data.clip_limit import clip_limit
from dplasso.storage import column_builder, column_runs
from dplasso.storage.column_builder import build_store
from dplasso.storage.column_format import ColumnStoreError, sealed
from dplasso.storage.column_store import ColumnStore, open_store
from stores import OURS, ROWS, assert_same, build, chunk, problem


@settings(max_examples=150, deadline=None)
@given(rows=ROWS, room=st.integers(1, 12), size=st.integers(1, 9), shuffle=st.booleans())
def test_any_rows_are_transposed_as_scipy_does(tmp_path_factory, rows, room, size, shuffle):
    path = tmp_path_factory.mktemp("any") / OURS
    labels = np.arange(len(rows), dtype=np.float64)
    parts = []
    for first in range(0, len(rows), size):
        some = [list(row.items()) for row in rows[first : first + size]]
        some = [row[::-1] if shuffle else sorted(row) for row in some]
        values = [value for row in some for _, value in row]
        parts.append(chunk(labels[first : first + size], [[c for c, _ in r] for r in some], values))
    dense = np.full((len(rows), 6), np.nan)
    for k, row in enumerate(rows):
        for column, value in row.items():
            dense[k, column] = value or np.nan  # zeros are not kept
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(column_builder, "_room", lambda memory, columns, per_column: room)
        patch.setattr(column_runs, "BLOCK", 4)
        patch.setattr(column_runs, "WIDEST", 4)
        store = open_store(build_store(path, parts, 6, memory=0), verify=True)
    wanted_rows, wanted_columns = (~np.isnan(dense)).T.nonzero()[::-1]
    entries = dense[wanted_rows, wanted_columns]
    matrix = store.matrix(2.0)
    columns = np.repeat(np.arange(6), np.diff(matrix.indptr))
    assert store.shape == (len(rows), 6) and store.entries == len(entries)
    assert np.array_equal(matrix.indices, wanted_rows) and np.array_equal(columns, wanted_columns)
    assert np.array_equal(store.labels, labels)
    assert (matrix.values is None) == bool(np.all(entries == 1))
    if matrix.values is not None:
        single = np.array_equal(entries.astype(np.float32), entries)
        assert matrix.values.dtype == (np.float32 if single else np.float64)
        assert np.array_equal(matrix.values, entries)


@pytest.mark.parametrize("x_bound", [1.0, 3.0, 0.5, 0.3])
@pytest.mark.parametrize("ones", [False, True])
def test_the_matrix_is_that_from_memory(path, tiny, x_bound, ones):
    X, y = problem(scale=2.0)
    X.data = np.ones_like(X.data) if ones else X.data.astype(np.float32).astype(np.float64)
    store = open_store(build(path, X, y))
    found, wanted = store.matrix(x_bound), ColumnMatrix.of(X.astype(np.float32), x_bound)
    assert_same(found, wanted)
    assert_same(found.with_constant(), wanted.with_constant())
    assert found.with_constant().constant == wanted.with_constant().constant
    weights = np.ones((X.shape[1], 1))
    assert np.array_equal(found.product(weights), wanted.product(weights))


def test_the_constant_column_is_not_a_copy(path):
    X, y = problem()
    matrix = open_store(build(path, X, y)).matrix(2.0)
    extended = matrix.with_constant()
    assert np.shares_memory(matrix.values, extended.values)
    assert np.shares_memory(matrix.indices, extended.indices)


def test_maps_may_exceed_memory(tmp_path):
    size = 1 << 40
    with open(tmp_path / "huge.bin", "wb") as file:
        file.truncate(size)
    files = {"huge.bin": {"dtype": "<i4", "bytes": size}}
    huge = ColumnStore(tmp_path, (1, 1), 1, {"files": files})._map("huge.bin")
    assert huge.flags.writeable and len(huge) == size // 4 and huge[-1] == 0


def test_a_store_of_an_earlier_version_holds_sums_that_are_not_read(path):
    X, y = problem()
    build(path, X, y)
    wanted = open_store(path).matrix(0.3)
    header = json.loads((path / "store.json").read_bytes())
    del header["sha256"]
    sums = np.full(X.shape[1] + 1, -1.0)
    sums.tofile(path / "sums.bin")
    about = {"dtype": "<f8", "bytes": sums.nbytes}
    header["files"]["sums.bin"] = {**about, "sha256": hashlib.sha256(sums.tobytes()).hexdigest()}
    (path / "store.json").write_bytes(sealed(header))
    assert_same(open_store(path, verify=True).matrix(0.3), wanted)


def test_values_are_clipped_whatever_the_header_says(path):
    X, y = problem(scale=4.0)
    build(path, X, y)
    header = json.loads((path / "store.json").read_bytes()) | {"largest": 0.0}
    del header["sha256"]
    (path / "store.json").write_bytes(sealed(header))
    values = np.fromfile(path / "values.bin", header["files"]["values.bin"]["dtype"])
    values[0] = 1e30
    values.tofile(path / "values.bin")
    held = open_store(path).matrix(0.3).with_constant()
    assert abs(held.values).max() == held.constant == held.values[-1] == clip_limit(0.3)
    for place, hostile in ((0, np.nan), (0, np.inf), (-1, 77.0)):  # the last is the constant's
        altered = values.copy()
        altered[place] = hostile
        altered.tofile(path / "values.bin")
        with pytest.raises(ColumnStoreError, match="not finite"):
            open_store(path).matrix(0.3)


def test_clipping_leaves_the_files_as_they_are(path):
    X, y = problem(scale=4.0)
    store = open_store(build(path, X, y))
    clipped = store.matrix(0.25)
    assert abs(clipped.values).max() == 0.25
    store.verify()
    assert abs(store.matrix(4.0).values).max() > 0.25


@pytest.mark.parametrize("x_bound", [1.0, 2.0, 0.5])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("ones", [False, True])
def test_the_model_is_that_from_memory(path, tiny, x_bound, fit_intercept, ones):
    X, y = problem(rows=300, columns=40)
    X.data = np.ones_like(X.data) if ones else X.data
    store = open_store(build(path, X, y))

    def fitted(data, labels):
        model = PrivateLassoClassifier(
            random_state=0, classes=[0, 1], n_rows=300, x_bound=x_bound, fit_intercept=fit_intercept
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyLeakWarning)
            return model.fit(data, labels)

    found, wanted = fitted(store.matrix(x_bound), store.labels), fitted(X, y)
    assert np.array_equal(found.vertices_, wanted.vertices_)
    assert np.array_equal(found.coef_, wanted.coef_)
    assert np.array_equal(found.intercept_, wanted.intercept_)


def test_many_entries_have_long_pointers(path, monkeypatch):
    X, y = problem()
    monkeypatch.setattr(column_builder, "LARGEST_INT32", X.nnz + X.shape[0] - 1)
    long = open_store(build(path, X, y), verify=True).matrix(1.0)
    monkeypatch.setattr(column_builder, "LARGEST_INT32", X.nnz + X.shape[0])
    short = open_store(build(path, X, y, overwrite=True), verify=True).matrix(1.0)
    assert long.indptr.dtype == np.int64 and short.indptr.dtype == np.int32
    assert_same(long, short)


def test_names_and_classes_come_back(path, tiny):
    X, y = problem()
    names = [f"ö {k}\n" for k in range(X.shape[1])]
    store = open_store(build(path, X, y, feature_names=iter(names), classes=["no", "jä"]))
    assert store.feature_names == names and store.classes == ["no", "jä"]
    store = open_store(build(path, X, y, overwrite=True))
    assert store.feature_names is None and store.classes is None
