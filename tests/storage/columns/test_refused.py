"""What does not fit into a store, or is no sound store, is refused."""

import hashlib
import json
import math
import os

import numpy as np
import pytest

from dplasso.data import ColumnMatrix
from dplasso.data.row_chunks import RowChunk, assemble
from dplasso.storage import column_builder
from dplasso.storage.column_builder import build_store
from dplasso.storage.column_format import ColumnStoreError, sealed
from dplasso.storage.column_store import open_store
from stores import (
    MEMORY,
    OURS,
    assert_nothing_beside,
    assert_same,
    build,
    chunk,
    chunks_of,
    problem,
)


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ([chunk([0], [[0]]), chunk([0, 1], [[1], [9]])], "row 3 has a column number outside"),
        ([chunk([0], [[0]]), chunk([0, 1], [[], [-1]])], "row 3 has a column number outside"),
        ([chunk([0, 1], [[0, 1], [1]], [1, 2, math.nan])], "row 2 holds NaN"),
        ([chunk([0, 1], [[], [0, 1]], [1, -math.inf])], "row 2 holds NaN"),
        ([chunk([0], [[0]]), chunk([0, math.nan], [[0], [1]])], "row 3 has no finite label"),
        ([RowChunk(np.zeros(1), np.array([0, 2]), np.zeros(1, np.int32), np.ones(1))], "pointers"),
        ([RowChunk(np.zeros(2), np.array([0, 2, 1]), np.zeros(1, np.int32), np.ones(1))], "ointer"),
        ([], "no rows"),
    ],
)
def test_rows_that_do_not_fit_are_named(path, parts, reason):
    with pytest.raises(ColumnStoreError, match=reason) as refusal:
        build_store(path, parts, 3, memory=MEMORY)
    assert str(path) in str(refusal.value)
    assert_nothing_beside(path.parent)


@pytest.mark.parametrize(
    "rows",
    [
        [[0, 1], [5, 0, 1, 2, 3, 4, 6, 7, 5]],  # in two runs
        [*[[5]] * 6, [5, 5]],  # a column of two fillings
        [*[[5]] * 6, [5, 0, 5]],
    ],
)
def test_entries_of_a_repeated_column_are_added_up_as_in_memory(path, tiny, rows):
    parts = chunk([0] * len(rows), rows)
    found = open_store(build_store(path, [parts], 8, memory=0)).matrix(3.0)
    assert_same(found, ColumnMatrix.of(assemble([parts], 8)[0], 3.0))


def test_too_many_rows_are_refused(path, monkeypatch):
    monkeypatch.setattr(column_builder, "MOST_ROWS", 59)
    with pytest.raises(ColumnStoreError, match="more than 59 rows"):
        build(path, *problem())


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"feature_names": ["a"]}, "one feature name per column"),
        ({"feature_names": range(11)}, "must be strings"),
        ({"classes": [0, 1]}, "must be strings"),
    ],
)
def test_names_that_do_not_fit_are_refused(path, options, reason):
    with pytest.raises(ColumnStoreError, match=reason):
        build(path, *problem(), **options)
    assert_nothing_beside(path.parent)


def test_memory_has_a_floor(path):
    floor = 12 * 1000 + (64 << 20)
    with pytest.raises(ValueError, match=f"at least {floor:,} bytes"):
        build_store(path, [], 1000, memory=floor - 1)
    build_store(path, [chunk([1], [[3]])], 1000, memory=floor)
    for columns in (0, 1 << 31):
        with pytest.raises(ValueError, match="columns must be"):
            build_store(path, [], columns, memory=1 << 50)


def test_what_exists_is_not_replaced_by_accident(path):
    build(path, *problem())
    with pytest.raises(ColumnStoreError, match="exists"):
        build(path, *problem(seed=1))
    other = path.parent / "photos"
    other.mkdir()
    (other / "one").touch()
    with pytest.raises(ColumnStoreError, match="no column store"):
        build(other, *problem(), overwrite=True)
    assert os.listdir(other) == ["one"]


def test_a_store_that_appears_meanwhile_is_kept(path):
    X, y = problem()

    def slow():
        yield from chunks_of(X, y, 13)
        build(path, *problem(seed=1))

    with pytest.raises(ColumnStoreError, match="exists"):
        build_store(path, slow(), X.shape[1], memory=MEMORY)
    assert open_store(path).entries == problem(seed=1)[0].nnz
    assert_nothing_beside(path.parent, OURS)


def test_errors_of_readers_are_their_own(path):
    def broken():
        yield chunk([1], [[0]])
        raise FileNotFoundError("rows.txt")

    with pytest.raises(FileNotFoundError, match=r"rows\.txt"):
        build_store(path, broken(), 1, memory=MEMORY)
    assert_nothing_beside(path.parent)


def test_truncated_files_are_detected(path):
    build(path, *problem(), feature_names=list("abcdefghijk"))
    assert len(os.listdir(path)) == 6
    for file in path.iterdir():
        content = file.read_bytes()
        file.write_bytes(content[:-1])
        with pytest.raises(ColumnStoreError, match="incomplete or altered"):
            open_store(path)
        file.write_bytes(content)
        file.rename(path / "elsewhere")
        with pytest.raises((ColumnStoreError, FileNotFoundError), match=file.name):
            open_store(path)
        (path / "elsewhere").rename(file)
    open_store(path, verify=True)


def test_altered_files_are_detected(path):
    build(path, *problem(rows=5), feature_names=list("abcdefghijk"))
    for file in path.iterdir():
        content = file.read_bytes()
        for place in range(len(content)):
            altered = bytearray(content)
            altered[place] ^= 1
            file.write_bytes(altered)
            with pytest.raises(ColumnStoreError):
                open_store(path, verify=True)
        file.write_bytes(content)
    open_store(path, verify=True)


def resealed(path, **changes):
    """A header that says otherwise, with digests that fit: whoever writes can compute them."""
    header = json.loads((path / "store.json").read_bytes()) | changes
    del header["sha256"]
    for name, file in header["files"].items():
        file["sha256"] = hashlib.sha256((path / name).read_bytes()).hexdigest()
    (path / "store.json").write_bytes(sealed(header))


@pytest.mark.parametrize(
    "changes",
    [
        {"shape": [60, 12]},
        {"shape": [61, 11]},
        {"shape": [60]},
        {"shape": [60.0, 11]},
        {"shape": None},
        {"entries": -1},
        {"entries": 1},
        {"files": {}},
        {"largest": "1"},
        {"format": "other"},
        {"version": 2},
    ],
)
def test_headers_that_do_not_fit_are_refused(path, changes):
    build(path, *problem())
    resealed(path, **changes)
    with pytest.raises(ColumnStoreError):
        open_store(path)


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("indptr.bin", 0, 1),
        ("indptr.bin", 3, 1 << 30),
        ("indptr.bin", -1, 0),
        ("indices.bin", 0, 1 << 30),
        ("indices.bin", 0, -1),
        ("indices.bin", 1, 0),
        ("values.bin", 0, math.nan),
        ("values.bin", 0, 1e9),
    ],
)
def test_entries_that_would_lead_astray_are_refused(path, name, place, value):
    build(path, *problem())
    dtype = json.loads((path / "store.json").read_bytes())["files"][name]["dtype"]
    array = np.fromfile(path / name, dtype)
    array[place] = value
    array.tofile(path / name)
    resealed(path)
    with pytest.raises(ColumnStoreError, match="incomplete or altered"):
        open_store(path, verify=name != "indptr.bin")


def test_no_store_is_not_found(path):
    with pytest.raises(FileNotFoundError, match=OURS):
        open_store(path)
