"""Files come back as they were written."""

import base64
import io
import json
import os
import pathlib
import time
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archives import ARRAYS, FIRST, HEADER, array_names, assert_same, json_values, some_arrays
from dplasso.storage import ModelFileError, read, write


@settings(deadline=None, max_examples=50)
@given(st.dictionaries(st.text(), json_values), st.dictionaries(array_names, some_arrays))
def test_what_is_read_is_what_was_written(shared_path, header, arrays):
    write(shared_path, header, arrays)
    assert_same(read(shared_path), (header, arrays))


@pytest.mark.parametrize("kind", [str, pathlib.Path])
def test_paths_are_text_or_path_objects(path, kind):
    write(kind(path), HEADER, ARRAYS)
    assert_same(read(kind(path)), (HEADER, ARRAYS))


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3).T,
        np.arange(10)[::3],
        np.array([1.0, 2.0], dtype=">f8"),
        np.array(["ab"], dtype=">U2"),
        np.array(5),
    ],
    ids=["columns first", "strided", "big-endian", "big-endian text", "no dimension"],
)
def test_any_layout_of_an_array_is_read_as_the_plain_one(path, array):
    write(path, {}, {"x": array})
    found = read(path)[1]["x"]
    assert found.dtype.isnative and found.flags.c_contiguous and found.flags.writeable
    assert found.shape == array.shape and np.array_equal(found, array)


def test_other_programs_can_open_it(path):
    write(path, HEADER, ARRAYS)
    with zipfile.ZipFile(path) as opened:
        assert opened.testzip() is None
        assert json.loads(opened.read("header.json")) == HEADER
        for name, array in ARRAYS.items():
            found = np.load(io.BytesIO(opened.read(f"arrays/{name}.npy")), allow_pickle=False)
            np.testing.assert_array_equal(found, array)


def test_files_of_the_first_version_stay_readable(path):
    path.write_bytes(base64.b64decode(FIRST))
    assert_same(read(path), (HEADER, ARRAYS))


def test_same_content_gives_same_bytes(path, monkeypatch):
    write(path, HEADER, ARRAYS)
    before = path.read_bytes()
    monkeypatch.setattr(time, "localtime", lambda *_: time.struct_time((2030,) + (1,) * 8))
    write(path, HEADER, dict(reversed(ARRAYS.items())))
    assert path.read_bytes() == before


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_mode_follows_the_umask(path, umask):
    before = os.umask(umask)
    try:
        write(path, HEADER, ARRAYS)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask


def test_a_link_stays_a_link(path, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    target = tmp_path / "elsewhere" / "target.dpl"
    path.symlink_to(target)
    write(path, HEADER, ARRAYS)
    assert path.is_symlink() and not target.is_symlink()
    assert_same(read(target), (HEADER, ARRAYS))


class Opaque:
    pass


@pytest.mark.parametrize(
    ("header", "arrays", "because"),
    [
        ({"x": float("nan")}, {}, "header is not strict JSON"),
        ({"x": float("inf")}, {}, "header is not strict JSON"),
        ({"x": Opaque()}, {}, "header is not strict JSON"),
        ({"x": "\ud800"}, {}, "header is not strict JSON"),
        ({"x": (1, 2)}, {}, "use lists"),
        ({"x": {1: 2}}, {}, "keys of type str"),
        ([1], {}, "no JSON object"),
        ({}, {"a": np.array([Opaque()])}, "array a has dtype object"),
        ({}, {"a": np.array(["x"], dtype=object)}, "array a has dtype object"),
        ({}, {"a": np.zeros(2, "f8,O")}, "array a has dtype"),
        ({}, {"a": np.zeros(2, "f8,i4")}, "array a has dtype"),
        ({}, {"a": np.zeros(2, "M8[s]")}, "array a has dtype"),
        ({}, {"a": np.zeros(2, "c16")}, "array a has dtype"),
        ({}, {"a": np.zeros(2, "S3")}, "array a has dtype"),
        ({}, {"a": np.zeros((1,) * 33)}, "array a has more than 32 dimensions"),
        ({}, {"../a": np.zeros(2)}, "array name"),
        ({}, {"": np.zeros(2)}, "array name"),
        ({}, {"a/b": np.zeros(2)}, "array name"),
        ({}, {"ä": np.zeros(2)}, "array name"),
        ({}, {"a\n": np.zeros(2)}, "array name"),
    ],
)
def test_what_would_not_come_back_is_not_written(path, header, arrays, because):
    with pytest.raises(ModelFileError, match=f"was not written: .*{because}") as refusal:
        write(path, header, arrays)
    assert str(path) in str(refusal.value)
    assert os.listdir(path.parent) == []
