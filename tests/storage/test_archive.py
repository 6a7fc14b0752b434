"""Files come back as they were written, are written whole or not at all, and do no harm."""

import base64
import errno
import hashlib
import io
import json
import os
import pathlib
import pickle
import re
import subprocess
import sys
import time
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dplasso.storage import ModelFileError, archive, atomic, read, write

HEADER = {"name": "ö", "list": [1, 0.1, None, True], "empty": {}}
ARRAYS = {"a": np.array([[1.5, -0.0], [np.nan, np.inf]]), "b": np.array(["x", "yz"])}

# HEADER and ARRAYS as version 1 was first written.
FIRST = """
ZHBsYXNzby1tb2RlbCAxIHNoYTI1Nj1iMDYyOGZjNTQwNDMyZGMzNjJhMzU0Nzk4YzhlMjhmMDU0NDU4MWY1Y2JiZGYxM2Y5
YjEwYjRiOGNmOWM1NTEzClBLAwQUAAAAAAAAACEADXPoHDEAAAAxAAAACwAAAGhlYWRlci5qc29ueyJuYW1lIjoiw7YiLCJs
aXN0IjpbMSwwLjEsbnVsbCx0cnVlXSwiZW1wdHkiOnt9fVBLAwQUAAAAAAAAACEAyuu00qAAAACgAAAADAAAAGFycmF5cy9h
Lm5weZNOVU1QWQEAdgB7J2Rlc2NyJzogJzxmOCcsICdmb3J0cmFuX29yZGVyJzogRmFsc2UsICdzaGFwZSc6ICgyLCAyKSwg
fSAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAKAAAAAAAA+D8AAAAA
AAAAgAAAAAAAAPh/AAAAAAAA8H9QSwMEFAAAAAAAAAAhAFhC8aGQAAAAkAAAAAwAAABhcnJheXMvYi5ucHmTTlVNUFkBAHYA
eydkZXNjcic6ICc8VTInLCAnZm9ydHJhbl9vcmRlcic6IEZhbHNlLCAnc2hhcGUnOiAoMiwpLCB9ICAgICAgICAgICAgICAg
ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgCngAAAAAAAAAeQAAAHoAAABQSwECFAMUAAAA
AAAAACEADXPoHDEAAAAxAAAACwAAAAAAAAAAAAAApAEAAAAAaGVhZGVyLmpzb25QSwECFAMUAAAAAAAAACEAyuu00qAAAACg
AAAADAAAAAAAAAAAAAAApAFaAAAAYXJyYXlzL2EubnB5UEsBAhQDFAAAAAAAAAAhAFhC8aGQAAAAkAAAAAwAAAAAAAAAAAAA
AKQBJAEAAGFycmF5cy9iLm5weVBLBQYAAAAAAwADAK0AAADeAQAAAAA=
"""

MEGABYTE = 1 << 20


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.dpl"


@pytest.fixture(scope="module")
def shared_path(tmp_path_factory):
    return tmp_path_factory.mktemp("shared") / "model.dpl"


def assert_same(found, wanted):
    """Equal to the bit: type, order and sign of zero included."""
    assert repr(found[0]) == repr(wanted[0])
    assert found[1].keys() == wanted[1].keys()
    for name, array in wanted[1].items():
        assert found[1][name].dtype == array.dtype and found[1][name].shape == array.shape
        assert found[1][name].tobytes() == array.tobytes()


def assert_refused(path, because=""):
    with pytest.raises(ModelFileError) as refusal:
        read(path)
    name, reason = str(refusal.value).split(str(path))  # names of tests are part of the path
    assert name == "" and re.search(because, reason), reason


def signed(content):
    """A first line that fits: whoever writes a file can compute its digest."""
    return b"dplasso-model 1 sha256=%s\n" % hashlib.sha256(content).hexdigest().encode() + content


def zipped(*members, compression=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as made:
        for name, data in members:
            made.writestr(name, data)
    return buffer.getvalue()


def npy(array, **options):
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


def npy_saying(header, data=b""):
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
some_arrays = hnp.arrays(
    dtype=st.sampled_from(["?", "i1", "i2", "i4", "i8", "u1", "u8", "f2", "f4", "f8"])
    | st.integers(1, 5).map(lambda width: f"U{width}"),
    shape=hnp.array_shapes(min_dims=0, min_side=0, max_dims=3),
)
array_names = st.from_regex("[A-Za-z0-9_]{1,20}", fullmatch=True)


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


# Damage.


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


# Interrupted writing.


class FullDisk(io.FileIO):
    """A file that takes some bytes and then no more."""

    def __init__(self, name, mode):
        super().__init__(name, mode.replace("b", ""))

    def write(self, data):
        super().write(data[: len(data) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")


def failing(error):
    def fail(*_):
        raise error

    return fail


@pytest.mark.parametrize("error", [OSError(errno.EIO, "broken"), KeyboardInterrupt()])
@pytest.mark.parametrize("call", ["replace", "fsync"])
def test_a_failed_call_leaves_the_old_file_alone(path, monkeypatch, call, error):
    write(path, HEADER, ARRAYS)
    monkeypatch.setattr(os, call, failing(error))
    with pytest.raises(type(error)):
        write(path, {"new": 1}, {})
    assert os.listdir(path.parent) == [path.name]
    assert_same(read(path), (HEADER, ARRAYS))


def test_a_full_disk_leaves_the_old_file_alone(path, monkeypatch):
    write(path, HEADER, ARRAYS)
    monkeypatch.setattr(atomic, "open", FullDisk, raising=False)
    with pytest.raises(OSError, match="No space left"):
        write(path, {"new": 1}, {})
    monkeypatch.undo()
    assert os.listdir(path.parent) == [path.name]
    assert_same(read(path), (HEADER, ARRAYS))


def test_the_file_is_synced_before_it_gets_its_name_and_the_directory_after(path, monkeypatch):
    calls = []
    sync, replace = os.fsync, os.replace

    def noted_sync(descriptor):
        calls.append("directory" if os.path.isdir(descriptor) else "file")
        sync(descriptor)

    def noted_replace(*names):
        calls.append("replace")
        replace(*names)

    monkeypatch.setattr(os, "fsync", noted_sync)
    monkeypatch.setattr(os, "replace", noted_replace)
    write(path, HEADER, ARRAYS)
    assert calls == ["file", "replace", "directory"]


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EIO])
def test_directories_that_cannot_be_synced_are_no_failure_but_broken_ones_are(
    path, monkeypatch, code
):
    directory_open = os.open

    def refusing(name, *rest, **options):
        if os.path.isdir(name):
            raise OSError(code, "no")
        return directory_open(name, *rest, **options)

    monkeypatch.setattr(os, "open", refusing)
    if code == errno.EIO:
        with pytest.raises(OSError, match="no"):
            write(path, HEADER, ARRAYS)
    else:
        write(path, HEADER, ARRAYS)
    assert os.listdir(path.parent) == [path.name]
    assert_same(read(path), (HEADER, ARRAYS))


def run(script, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


BEYOND_THE_LIMIT = """
import errno, os, resource, sys
import numpy as np
from dplasso.storage import write

resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    write(sys.argv[1], {"new": 1}, {"x": np.zeros(100_000)})
except OSError as error:
    print(errno.errorcode[error.errno])
"""


def test_a_limit_on_file_sizes_leaves_the_old_file_alone(path):
    write(path, HEADER, ARRAYS)
    assert run(BEYOND_THE_LIMIT, path) == "EFBIG\n"
    assert os.listdir(path.parent) == [path.name]
    assert_same(read(path), (HEADER, ARRAYS))


# A process that does nothing else forks the ones to kill: they need no time to start. Each tells
# when it has saved once, and is killed at some moment after that.
KILLED_AGAIN_AND_AGAIN = """
import os, random, signal, sys, time
import numpy as np
from dplasso.storage import read, write

path, kills = sys.argv[1], int(sys.argv[2])

def save(number):
    write(path, {"number": number}, {"x": np.full(300_000, number)})

def save_for_ever(number, told):
    while True:
        number += 1
        save(number)
        os.write(told, b".")

number = 0
save(number)
for _ in range(kills):
    hears, told = os.pipe()
    child = os.fork()
    if child == 0:
        save_for_ever(number, told)
    os.read(hears, 1)
    time.sleep(random.uniform(0.0, 0.03))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(hears), os.close(told)
    header, arrays = read(path)
    assert header["number"] > number
    number = header["number"]
    assert np.array_equal(arrays["x"], np.full(300_000, number))
print("killed", kills)
"""


def test_whatever_kills_the_process_the_file_is_complete(path):
    assert run(KILLED_AGAIN_AND_AGAIN, path, 20) == "killed 20\n"
    others = set(os.listdir(path.parent)) - {path.name}
    assert all(name.startswith(".dplasso-") and name.endswith(".tmp") for name in others)
    write(path, HEADER, ARRAYS)
    assert_same(read(path), (HEADER, ARRAYS))


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
    ],
    ids=range(11),
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
