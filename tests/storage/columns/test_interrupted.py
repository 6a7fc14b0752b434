"""A store is whole or absent, and built in the memory given."""

import errno
import fcntl
import itertools
import os
import resource
import subprocess
import sys
import textwrap

import pytest

from dplasso.storage import column_builder, column_runs
from dplasso.storage.column_format import ColumnStoreError
from dplasso.storage.column_store import open_store
from stores import OURS, assert_nothing_beside, build, problem


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
        from dplasso.data.row_chunks import RowChunk
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
        from dplasso.data.row_chunks import RowChunk
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
