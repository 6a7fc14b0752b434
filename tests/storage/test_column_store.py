"""A store is the rows transposed, whole or absent, in the memory given; fits do not differ."""

import errno
import fcntl
import hashlib
import itertools
import json
import math
import os
import resource
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso import ColumnMatrix, PrivacyLeakWarning, PrivateLassoClassifier
from dplasso.reading.chunks import RowChunk
from dplasso.storage import column_builder, column_runs
from dplasso.storage.column_builder import build_store
from dplasso.storage.column_format import ColumnStoreError, sealed
from dplasso.storage.column_store import ColumnStore, open_store

MEMORY = 65 << 20
OURS = "x.dpc"


@pytest.fixture
def path(tmp_path):
    return tmp_path / OURS


@pytest.fixture
def tiny(monkeypatch):
    """Memory for seven entries: several runs, ranges and fillings of long columns."""
    monkeypatch.setattr(column_builder, "_room", lambda memory, columns, per_column: 7)
    monkeypatch.setattr(column_runs, "BLOCK", 3)


def chunks_of(X, y, size):
    for first in range(0, X.shape[0], size):
        part = X[first : first + size]
        indptr = part.indptr.astype(np.int64)
        yield RowChunk(y[first : first + size], indptr, part.indices, part.data.astype(np.float64))


def problem(rows=60, columns=11, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    X = sp.random_array((rows, columns), density=0.3, rng=rng, format="csr")
    X.data = np.round(scale * (2 * X.data - 1), 3)
    return X, rng.integers(0, 2, rows).astype(np.float64)


def build(path, X, y, **options):
    return build_store(path, chunks_of(X, y, 13), X.shape[1], memory=MEMORY, **options)


def chunk(labels, rows, values=None):
    """Rows from lists of columns."""
    indices = np.array([column for row in rows for column in row], np.int32)
    indptr = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    values = np.ones(len(indices)) if values is None else np.array(values, np.float64)
    return RowChunk(np.array(labels, np.float64), indptr, indices, values)


def assert_same(found, wanted):
    """Equal arrays; precision of values may differ."""
    assert found.shape == wanted.shape and found.x_bound == wanted.x_bound
    assert np.array_equal(found.indptr, wanted.indptr)
    assert np.array_equal(found.indices, wanted.indices)
    for ours, theirs in ((found.values, wanted.values), (found.norm1, wanted.norm1)):
        assert (ours is None) == (theirs is None)
        assert ours is None or np.array_equal(ours, theirs)


def assert_nothing_beside(folder, *names):
    assert sorted(os.listdir(folder)) == sorted(names)


ROWS = st.lists(
    st.dictionaries(
        st.integers(0, 5),
        st.one_of(st.just(1.0), st.floats(-2, 2, width=32), st.floats(-2, 2)),
        max_size=6,
    ),
    min_size=1,
    max_size=30,
)


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
            dense[k, column] = value
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


def test_progress_is_told(path, tiny):
    X, y = problem()
    told = []
    build(path, X, y, progress=lambda *what: told.append(what))
    open_store(path, verify=True, progress=lambda *what: told.append(what))
    stages = {stage: list(some) for stage, some in itertools.groupby(told, lambda what: what[0])}
    assert list(stages) == ["read", "sort", "verify"]
    assert stages["read"][-1][1:] == (X.nnz, None) and stages["sort"][-1][1:] == (X.nnz, X.nnz)
    size = sum(file.stat().st_size for file in path.iterdir() if file.suffix == ".bin")
    assert stages["verify"][-1][1:] == (size, size)


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ([chunk([0, 1], [[0], [1]]), chunk([0, 1], [[0], [1, 2, 1]])], "row 4 has a column twice"),
        ([chunk([0], [[1, 1]])], "row 1 has a column twice"),
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
        [[0, 1], [5, 0, 1, 2, 3, 4, 6, 7, 5]],  # in two runs, that are merged in one filling
        [*[[5]] * 6, [5, 5]],  # the end of a run and the start of the next
        [*[[5]] * 6, [5, 0, 5]],  # two fillings of a long column
    ],
)
def test_a_repeated_column_is_found_across_runs(path, tiny, rows):
    with pytest.raises(ColumnStoreError, match=f"row {len(rows)} has a column twice"):
        build_store(path, [chunk([0] * len(rows), rows)], 8, memory=0)
    assert_nothing_beside(path.parent)


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


def fail_at(monkeypatch, call, error):
    """Let one write after the other fail."""
    calls = itertools.count()
    write_all = column_runs.write_all

    def failing(file, data):
        if next(calls) == call:
            raise error
        write_all(file, data)

    for room in (column_runs, column_builder):
        monkeypatch.setattr(room, "write_all", failing)


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()]
)
def test_whichever_write_fails_the_old_store_stays(path, tiny, monkeypatch, error):
    X, y = problem(rows=8)
    before = open_store(build(path, *problem(rows=5))).header
    refused = ColumnStoreError if isinstance(error, OSError) else KeyboardInterrupt
    for call in itertools.count():
        with monkeypatch.context() as patch:
            fail_at(patch, call, error)
            try:
                build(path, X, y, overwrite=True)
                break
            except refused:
                pass
        assert_nothing_beside(path.parent, OURS)
        assert open_store(path, verify=True).header == before
    assert call > 30 and open_store(path, verify=True).shape == X.shape
    assert_nothing_beside(path.parent, OURS)


@pytest.mark.parametrize("call", [0, 1])
def test_a_rename_that_fails_leaves_the_old_store(path, monkeypatch, call):
    before = open_store(build(path, *problem())).header
    renames, calls = os.rename, itertools.count()

    def failing(source, target):
        if next(calls) == call:
            raise OSError(errno.EIO, "Input/output error")
        renames(source, target)

    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(OSError, match="Input/output"):
        build(path, *problem(seed=1), overwrite=True)
    assert open_store(path, verify=True).header == before
    assert_nothing_beside(path.parent, OURS)


def test_a_limit_on_files_is_a_clean_error(path):
    X, y = problem(rows=4000)
    build(path.with_name("warm.dpc"), X, y)  # compiled code is written to disk, too
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        with pytest.raises(ColumnStoreError, match="File too large"):
            build(path, X, y)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert_nothing_beside(path.parent, "warm.dpc")


def test_truncated_files_are_detected(path):
    build(path, *problem(), feature_names=list("abcdefghijk"))
    assert len(os.listdir(path)) == 7
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


def leftover(path, what):
    return path.with_name(f".{OURS}.1-{'0' * 16}.{what}")


def test_leftovers_are_cleared_once_nobody_works_there(path):
    X, y = problem()
    busy, stranger = leftover(path, "tmp"), path.with_name(f".{OURS}.mine.tmp")
    for folder in (busy, stranger):
        folder.mkdir()
        (folder / "labels.bin").touch()
    lock = os.open(busy, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        build(path, X, y)
        assert_nothing_beside(path.parent, OURS, busy.name, stranger.name)
    finally:
        os.close(lock)
    build(path, X, y, overwrite=True)
    assert_nothing_beside(path.parent, OURS, stranger.name)


def test_a_store_moved_away_by_a_killed_build_is_put_back(path):
    X, y = problem()
    build(path, X, y)
    path.rename(leftover(path, "old"))
    with pytest.raises(ColumnStoreError, match="exists"):
        build(path, X, y)
    open_store(path, verify=True)
    assert_nothing_beside(path.parent, OURS)


def run(script, *arguments):
    code = textwrap.dedent(script)
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_killed_builds_leave_a_whole_store_or_none(path):
    """Killed at 20 moments: the next build finds a whole store, and clears the rest away."""
    out = run(
        """
        import os, random, signal, sys, time
        import numpy as np
        from dplasso.reading.chunks import RowChunk
        from dplasso.storage import build_store, column_builder, open_store

        path = sys.argv[1]
        column_builder._room = lambda memory, columns, per_column: 1000

        def build(overwrite=True):
            rng = np.random.default_rng(0)
            rows = (
                RowChunk(np.ones(100), np.arange(0, 1001, 10), columns, rng.random(1000))
                for columns in (np.tile(np.arange(10) * 5, 100) + k for k in range(5))
            )
            build_store(path, rows, 50, memory=0, overwrite=overwrite)

        start = time.monotonic()
        build()
        build()
        lasts = (time.monotonic() - start) / 2
        random.seed(0)
        interrupted = 0
        for _ in range(20):
            child = os.fork()
            if child == 0:
                while True:
                    build()
            time.sleep(random.uniform(0, 2 * lasts))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            interrupted += len(os.listdir(os.path.dirname(path))) > 1
            if os.path.exists(path):
                open_store(path, verify=True)
            build()
            assert os.listdir(os.path.dirname(path)) == [os.path.basename(path)]
            open_store(path, verify=True)
        print(interrupted)
        """,
        path,
    )
    assert int(out) > 0  # some were killed at work


def test_memory_stays_within_what_was_given(path):
    """Rows four times as large as the memory, and a column that alone exceeds it."""
    out = run(
        """
        import sys
        import numpy as np
        from pathlib import Path
        from dplasso.reading.chunks import RowChunk
        from dplasso.storage import build_store, open_store

        path = Path(sys.argv[1])
        COLUMNS, MEMORY = 2_000_000, 12 * 2_000_000 + (64 << 20)

        def chunks(count):
            rng = np.random.default_rng(0)
            for _ in range(count):
                steps = rng.integers(1, COLUMNS // 8, (10_000, 8))
                steps[:, 0] = 0
                columns = np.cumsum(steps, axis=1).astype(np.int32).ravel()
                indptr = np.arange(0, 80_001, 8)
                yield RowChunk(np.ones(10_000), indptr, columns, rng.random(80_000))

        def status(field):
            lines = Path("/proc/self/status").read_text().splitlines()
            return next(int(line.split()[1]) << 10 for line in lines if line.startswith(field))

        build_store(path, chunks(2), COLUMNS, memory=MEMORY)
        before = status("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
        build_store(path, chunks(400), COLUMNS, memory=MEMORY, overwrite=True)
        store = open_store(path)
        print(MEMORY, status("VmHWM") - before, store.entries, int(store.matrix().indptr[1]))
        """,
        path,
    )
    memory, grown, entries, longest = map(int, out.split())
    assert entries * 12 > 4 * memory  # of columns and values, as the rows come
    assert longest * 20 > memory / 2
    assert grown <= memory
