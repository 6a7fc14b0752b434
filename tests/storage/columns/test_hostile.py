"""A store or an archive that was written to do harm is refused, or gives a sound matrix."""

import json
import math

import numpy as np
import pytest

import hostile_runs
from dplasso.storage.column_format import ColumnStoreError, sealed
from dplasso.storage.column_store import open_store
from hostile_files import unsound
from stores import build, problem


def altered(path, **files):
    """The same store with some of its files replaced, under digests that fit."""
    import hashlib

    header = json.loads((path / "store.json").read_bytes())
    header.pop("sha256")
    for name, change in files.items():
        file = path / name.replace("__", ".")
        array = np.frombuffer(file.read_bytes(), header["files"][file.name]["dtype"]).copy()
        change(array)
        file.write_bytes(array.tobytes())
        header["files"][file.name]["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
    (path / "store.json").write_bytes(sealed(header))
    return path


def rewritten(path, **facts):
    """The same store with other facts in its header."""
    header = json.loads((path / "store.json").read_bytes())
    header.pop("sha256")
    (path / "store.json").write_bytes(sealed({**header, **facts}))
    return path


def put(place, value):
    def change(array):
        array[place] = value

    return change


def test_tampered_stores_and_archives_are_refused_or_sound():
    """More of them in benchmarks/fuzz_matrices.py."""
    assert hostile_runs.findings("hostile_files", 0, 300)[0] == []


@pytest.mark.parametrize(
    ("name", "change", "what"),
    [
        ("indices__bin", put(0, 10**6), "not in order, not in range"),
        ("indices__bin", put(3, -1), "not in order, not in range"),
        ("indices__bin", put(slice(0, 2), 0), "not in order, not in range"),
        ("indices__bin", put(-1, 0), "not in order, not in range"),  # the constant's
        ("values__bin", put(0, math.nan), "not finite"),
        ("values__bin", put(5, math.inf), "not finite"),
        ("values__bin", put(-1, 0.5), "not finite"),  # the constant's
    ],
)
@pytest.mark.parametrize("x_bound", [1.0, 0.5, 7.0, None])
def test_entries_are_checked_before_they_are_used(path, name, change, what, x_bound):
    store = open_store(altered(build(path, *problem()), **{name: change}))
    with pytest.raises(ColumnStoreError, match=what):
        store.matrix(x_bound)


def test_entries_without_values_are_checked_too(path):
    X, y = problem()
    X.data[:] = 1.0
    store = open_store(altered(build(path, X, y), indices__bin=put(4, 60)))
    for x_bound in (1.0, 2.0, 0.5):
        with pytest.raises(ColumnStoreError, match="not in range"):
            store.matrix(x_bound)


@pytest.mark.parametrize("x_bound", [1.0, 2.5])
def test_values_are_clipped_whatever_the_header_says(path, x_bound):
    X, y = problem(scale=5.0)
    store = open_store(rewritten(build(path, X, y), largest=0.25))
    matrix = store.matrix(x_bound)
    assert unsound(matrix) is None and np.abs(matrix.values).max() == x_bound
    assert np.abs(X.data).max() == np.abs(store.matrix(None).values).max() > x_bound


@pytest.mark.parametrize("label", [-1.0, 2.0, 0.5, math.nan, math.inf])
def test_labels_are_positions_of_classes(path, label):
    built = build(path, *problem(), classes=["no", "yes"])
    with pytest.raises(ColumnStoreError, match=r"labels\.bin"):
        _ = open_store(altered(built, labels__bin=put(7, label))).labels


def test_labels_that_are_numbers_are_finite(path):
    built = build(path, *problem())
    with pytest.raises(ColumnStoreError, match=r"labels\.bin"):
        _ = open_store(altered(built, labels__bin=put(7, math.nan))).labels


@pytest.mark.parametrize("bound", [0.0, -1.0, math.nan, math.inf, 1e-300])
def test_bounds_of_columns_are_positive_and_finite(path, bound):
    built = build(path, *problem(), bounds=np.arange(1.0, 12.0))
    store = open_store(altered(built, bounds__bin=put(2, bound)))
    with pytest.raises(ColumnStoreError, match=r"bounds\.bin"):
        store.matrix()


HALF_A_CHARACTER = json.dumps([f"f{k}" for k in range(10)] + ["\ud800"]).encode()


@pytest.mark.parametrize(
    "content", [b"[]", b'{"a": 1}', b"[1]", b"[" * 9999, b"\xff" * 9, b"7", HALF_A_CHARACTER]
)
def test_feature_names_are_one_text_per_column(path, content):
    import hashlib

    build(path, *problem(), feature_names=[f"f{k}" for k in range(11)])
    header = json.loads((path / "store.json").read_bytes())
    (path / "feature_names.json").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    file = {**header["files"]["feature_names.json"], "bytes": len(content), "sha256": digest}
    rewritten(path, files={**header["files"], "feature_names.json": file})
    with pytest.raises(ColumnStoreError, match=r"feature_names\.json"):
        _ = open_store(path).feature_names


@pytest.mark.parametrize(
    "facts",
    [
        {"largest": math.inf},
        {"largest": math.nan},
        {"largest": -1.0},
        {"classes": ["yes", "yes"]},
        {"classes": ["yes", 1]},
        {"classes": []},
        {"classes": "no"},
        {"classes": {"no": 1}},
        {"source": [1]},
    ],
)
def test_facts_that_cannot_be_are_refused(path, facts):
    rewritten(build(path, *problem()), **facts)
    with pytest.raises(ColumnStoreError, match="contradicts itself"):
        open_store(path)
