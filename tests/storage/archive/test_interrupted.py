"""Whatever interrupts a save, the file is the old one or the new one."""

import errno
import io
import os
import subprocess
import sys

import pytest

from archives import ARRAYS, HEADER, assert_same
from dplasso.storage import atomic, read, write


class FullDisk(io.FileIO):
    """A file that takes some bytes and then no more."""

    def __init__(self, file, mode, **options):
        super().__init__(file, mode.replace("b", ""), **options)

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
