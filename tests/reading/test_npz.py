"""Archives give the matrix that was saved, or an error that names the file."""

import io
import tracemalloc
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

from dplasso.base import memory
from dplasso.reading.npz import read_npy, read_npz
from hostile_files import packed

X = np.array([[0.0, 2.5, 0.0, -1.0], [1.0, 0.0, 0.0, 0.0]])


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("compressed", [False, True])
def test_what_scipy_saves_is_read(tmp_path, form, kind, compressed):
    saved = getattr(sp, f"coo_{kind}")(X).asformat(form)
    sp.save_npz(tmp_path / "X.npz", saved, compressed=compressed)
    found = read_npz(tmp_path / "X.npz")
    assert found.format in ("csr", "csc", "coo") and np.array_equal(found.toarray(), X)
    assert found.data.flags.writeable  # loops are compiled for arrays that are


@pytest.mark.parametrize("form", ["csr", "csc", "bsr"])
@pytest.mark.parametrize(
    ("part", "value"), [("indices", 10**6), ("indices", -9), ("indptr", 10**6)]
)
def test_an_archive_of_a_matrix_that_is_not_sound_is_refused(tmp_path, form, part, value):
    saved = sp.coo_array(X).asformat(form)
    getattr(saved, part)[-1] = value
    (tmp_path / "X.npz").write_bytes(packed(saved))
    with pytest.raises(ValueError, match=r"X\.npz has .*; rebuild the sparse matrix"):
        read_npz(tmp_path / "X.npz")


def members(**changes):
    """An archive of a sound matrix with some arrays replaced by bytes; None leaves one out."""
    with zipfile.ZipFile(io.BytesIO(packed(sp.csr_array(X)))) as archive:
        found = {name.removesuffix(".npy"): archive.read(name) for name in archive.namelist()}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {**found, **changes}.items():
            if data is not None:
                archive.writestr(f"{name}.npy", data)
    return file.getvalue()


def as_npy(array, pickled=False):
    file = io.BytesIO()
    np.save(file, array, allow_pickle=pickled)
    return file.getvalue()


HUGE = as_npy(np.ones(3)).replace(b"(3,)", b"(9" + b"9" * 12 + b",)")


# Archives hold the time at which they were written, so they cannot name tests.
SOMETHING_ELSE = {
    "nothing": b"",
    "a cut archive": b"PK\x03\x04",
    "no data": members(data=None),
    "data that claim to be huge": members(data=HUGE),
    "cut data": members(data=as_npy(np.ones(3))[:-1]),
    "pickled data": members(data=as_npy(np.array([{}, 1, 2]), pickled=True)),
    "an unknown format": members(format=as_npy(np.array(b"exe"))),
    "two formats": members(format=as_npy(np.array(["csr", "csr"]))),
    "three lengths": members(shape=as_npy(np.array([2, 4, 1]))),
    "lengths as text": members(shape=as_npy(np.array(["2", "4"]))),
    "a fraction as length": members(shape=as_npy(np.array([2.5, 4]))),
}


@pytest.mark.parametrize("what", SOMETHING_ELSE)
def test_an_archive_of_something_else_is_refused(tmp_path, what):
    (tmp_path / "X.npz").write_bytes(SOMETHING_ELSE[what])
    with pytest.raises(ValueError, match=r"X\.npz .*; (write it|rebuild)"):
        read_npz(tmp_path / "X.npz")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_what_is_packed_as_scipy_never_does_is_not_unpacked(tmp_path, method):
    """A few bytes of it give as much as they like, whatever size the archive states."""
    with zipfile.ZipFile(io.BytesIO(packed(sp.csr_array(X)))) as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    found["data.npy"] += bytes(64 << 20)
    with zipfile.ZipFile(tmp_path / "X.npz", "w", method) as archive:
        for name, data in found.items():
            archive.writestr(name, data)
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"X\.npz could not be read .*; write it"):
        read_npz(tmp_path / "X.npz")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 8 << 20


def test_arrays_that_do_not_fit_in_memory_are_refused_first(tmp_path, monkeypatch):
    sp.save_npz(tmp_path / "X.npz", sp.csr_array(X))
    np.save(tmp_path / "y.npy", np.ones(3))
    monkeypatch.setattr(memory, "available", lambda: 10)
    for read, name in ((read_npz, "X.npz"), (read_npy, "y.npy")):
        with pytest.raises(memory.TooLargeError, match="would need more memory .* column store"):
            read(tmp_path / name)


def test_labels(tmp_path):
    for y in (np.arange(5), np.array(["no", "yes"]), np.ones(3, np.float32)):
        np.save(tmp_path / "y.npy", y)
        assert np.array_equal(read_npy(tmp_path / "y.npy"), y)
    for content in (b"", HUGE, as_npy(np.array([{}]), pickled=True), members()):
        (tmp_path / "y.npy").write_bytes(content)
        with pytest.raises(ValueError, match=r"y\.npy could not be read .*; write it"):
            read_npy(tmp_path / "y.npy")
