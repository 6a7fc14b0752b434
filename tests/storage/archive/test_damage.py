"""Damaged and hostile files are refused, and do no harm."""

import base64
import errno
import io
import os
import pickle
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archives import (
    ARRAYS,
    FIRST,
    HEADER,
    MEGABYTE,
    assert_refused,
    npy,
    npy_saying,
    signed,
    zipped,
)
from dplasso.storage import ModelFileError, archive, read, write


@pytest.fixture
def small(path):
    write(path, {"a": 1}, {"x": np.array([1, 2])})
    return path.read_bytes()


def assert_refused_with(path, content, place, values):
    """Change one byte in place, again and again, and put it back."""
    with open(path, "r+b", buffering=0) as file:
        for value in values:
            file.seek(place)
            file.write(bytes([value]))
            assert_refused(path)
        file.seek(place)
        file.write(content[place : place + 1])


def test_every_flipped_bit_is_refused(path, small):
    for place, byte in enumerate(small):
        assert_refused_with(path, small, place, [byte ^ (1 << bit) for bit in range(8)])
    assert read(path)[0] == {"a": 1}


def test_every_other_byte_in_the_first_line_is_refused(path, small):
    for place in range(small.index(b"\n") + 1):
        assert_refused_with(path, small, place, set(range(256)) - {small[place]})
    assert read(path)[0] == {"a": 1}


def test_every_truncation_is_refused(path, small):
    for length in reversed(range(len(small))):
        os.truncate(path, length)
        assert_refused(path)


def test_more_at_the_end_is_refused(path, small):
    path.write_bytes(small + b"\n")
    assert_refused(path, "truncated or altered.*save the model again")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"dplasso",
        pickle.dumps({"a": 1}),
        npy(np.zeros(3)),
        zipped(("header.json", "{}")),
        b"dplasso-model 01 sha256=",
        b"dplasso-model -1 sha256=",
        b"x" * MEGABYTE,
    ],
)
def test_foreign_files_are_refused(path, content):
    path.write_bytes(content)
    assert_refused(path, "is not a dplasso model file")


@pytest.mark.parametrize("line", [b"dplasso-model 2 sha256=", b"dplasso-model 10 blake3=0123\n"])
def test_newer_versions_ask_for_an_upgrade(path, small, line):
    path.write_bytes(line + small[23:])
    assert_refused(path, "written by a newer dplasso; upgrade")


def test_directories_and_pipes_are_refused(tmp_path, path):
    assert_refused(tmp_path, "not a regular file")
    with pytest.raises(ModelFileError, match="not a regular file"):
        write(tmp_path, HEADER, ARRAYS)
    os.mkfifo(path)
    assert_refused(path, "not a regular file")
    with pytest.raises(ModelFileError, match="not a regular file"):
        write(path, HEADER, ARRAYS)
    assert os.listdir(tmp_path) == [path.name]


def test_a_missing_file_is_told_as_usual(path):
    with pytest.raises(FileNotFoundError):
        read(path)
    with pytest.raises(FileNotFoundError):
        write(path / "in" / "no" / "directory", HEADER, ARRAYS)


def test_what_the_system_will_not_read_is_refused(path, monkeypatch):
    write(path, HEADER, ARRAYS)

    def forbidden(*_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(archive, "open", forbidden, raising=False)
    assert_refused(path, "cannot be read: Permission denied")


# Malice: the digest fits, what follows does not.


def assert_harmless(path, content, because=""):
    """Refused, and without the memory that it asks for."""
    path.write_bytes(signed(content))
    tracemalloc.start()
    assert_refused(path, because)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * MEGABYTE


class Payload:
    """Unpickled, it makes a directory."""

    def __init__(self, place):
        self.place = place

    def __reduce__(self):
        return os.mkdir, (str(self.place),)


def test_pickled_objects_are_not_unpickled(path, tmp_path):
    crime = tmp_path / "crime"
    data = npy(np.array([Payload(crime)], dtype=object), allow_pickle=True)
    np.load(io.BytesIO(data), allow_pickle=True)
    crime.rmdir()  # the payload works
    assert_harmless(path, zipped(("header.json", "{}"), ("arrays/x.npy", data)), "array x")
    assert_harmless(path, zipped(("header.json", "{}"), ("arrays/x.npy", data[-80:])), "array x")
    assert_harmless(path, data)
    assert not crime.exists()


@pytest.mark.parametrize(
    "said",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2147483648, 2147483648, 4), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1" + ", 1" * 40 + "), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 99999999999999999, 999999999), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (), }",
        "{'descr': '<U0', 'fortran_order': False, 'shape': (1000000000000,), }",
        "{'descr': '<U999999999', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '|V0', 'fortran_order': False, 'shape': (1000000000000,), }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<f16', 'fortran_order': False, 'shape': (0,), }",
        "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (0,), }",
        "{'descr': '<f8', 'fortran_order': True, 'shape': (0,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (" + "(" * 5000 + "), }",
        "__import__('os').abort()",
        "",
    ],
)
def test_arrays_that_say_what_they_are_not_are_refused(path, said):
    for data in (b"", b"\x00" * 4):
        content = zipped(("header.json", "{}"), ("arrays/x.npy", npy_saying(said, data)))
        assert_harmless(path, content, "array x|too big")


def test_a_sound_array_made_by_the_same_means_is_read(path):
    said = "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2), }"
    data = npy_saying(said, np.array([1.0, 2.0]).tobytes())
    path.write_bytes(signed(zipped(("header.json", "{}"), ("arrays/x.npy", data))))
    assert read(path)[1]["x"].tolist() == [[1.0, 2.0]]


@pytest.mark.parametrize(
    ("dtype", "data"),
    [("|b1", b"\x02"), ("<U1", b"\x00\x00\x11\x00"), ("<U1", b"\xff\xff\xff\xff")],
)
def test_bytes_that_no_entry_has_are_refused(path, dtype, data):
    said = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': (1,), }}"
    content = zipped(("header.json", "{}"), ("arrays/x.npy", npy_saying(said, data)))
    assert_harmless(path, content, "booleans|Unicode")


@pytest.mark.parametrize(
    "name",
    [
        "../evil.npy",
        "/tmp/evil.npy",
        "arrays/../../evil.npy",
        "arrays/a/b.npy",
        "arrays\\x.npy",
        "arrays/.npy",
        "arrays/x.npy/",
        "arrays/x.npz",
        "extra",
    ],
)
def test_members_of_other_names_are_refused(path, name):
    content = zipped(("header.json", "{}"), (name, npy(np.zeros(2))))
    assert_harmless(path, content, "unexpected member")
    assert os.listdir(path.parent) == [path.name]


def test_compressed_members_are_refused_unopened(path):
    for size in (10, 50 * MEGABYTE):
        bomb = ("arrays/x.npy", npy(np.zeros(size, np.int8)))
        content = zipped(("header.json", "{}"), bomb, compression=zipfile.ZIP_DEFLATED)
        assert_harmless(path, content, "compressed")


def test_one_member_listed_again_and_again_is_refused_unopened(path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as made:
        made.writestr("header.json", "{}")
        made.writestr("arrays/x.npy", npy(np.zeros(100_000)))
        made.filelist.extend(made.filelist[1:] * 200)
    assert_harmless(path, buffer.getvalue(), "larger than the file")


def test_members_of_the_same_name_and_archives_without_header_are_refused(path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as made:
        made.writestr("header.json", "{}" + " " * 1000)
        made.filelist.extend(made.filelist[:1])
        made.writestr("arrays/x.npy", npy(np.zeros(1000)))
        del made.filelist[2:]
    assert_harmless(path, buffer.getvalue(), "same name")
    assert_harmless(path, zipped(("arrays/x.npy", npy(np.zeros(2)))), "no header")
    assert_harmless(path, zipped(), "no header")


def test_encrypted_members_are_refused(path):
    content = bytearray(zipped(("header.json", "{}")))
    content[content.index(b"PK\x01\x02") + 8] |= 1
    content[6] |= 1
    assert_harmless(path, bytes(content), "encrypted")


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x05\x06" + b"\xff" * 18])
def test_content_that_is_no_archive_is_refused(path, content):
    assert_harmless(path, content)


@pytest.mark.parametrize(
    "text",
    [
        '{"x": NaN}',
        '{"x": Infinity}',
        '{"x": -Infinity}',
        '{"x": 1e999}',
        '{"x": 1, "x": 2}',
        '{"x": 1',
        "[]",
        "",
        b'{"x": "\xff"}',
        '{"x": %s}' % ("9" * 10_000),
        '{"x": ' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"x": ' + "[" * 100 + "]" * 100 + "}",
    ],
    ids=range(12),
)
def test_headers_that_are_not_strict_json_are_refused(path, text):
    assert_harmless(path, zipped(("header.json", text)))


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_altered_content_with_a_digest_that_fits_is_read_or_refused(shared_path, data):
    content = bytearray(base64.b64decode(FIRST).split(b"\n", 1)[1])
    places = st.tuples(st.integers(0, len(content) - 1), st.integers(0, 255))
    for place, value in data.draw(st.lists(places, min_size=1, max_size=4)):
        content[place] = value
    shared_path.write_bytes(signed(bytes(content)))
    try:
        header, arrays = read(shared_path)
    except ModelFileError:
        return
    assert isinstance(header, dict)
    assert all(isinstance(array, np.ndarray) for array in arrays.values())
