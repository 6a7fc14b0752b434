"""Processes of one machine share the arrays of their messages, and nothing outlives them."""

import fcntl
import os
import subprocess
import sys

import numpy as np
import pytest

from dplasso.cluster.shared_memory import Handle, Message, SharedMemory

pytestmark = pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="no such memory here")
# Another process answers every message with its numbers doubled.
DOUBLE = """
import sys
from dplasso.cluster.shared_memory import Handle, Message, SharedMemory

memory = [SharedMemory.joined(Handle(*eval(line))) for line in (input(), input())]
print(all(memory), flush=True)
for line in sys.stdin:
    name, numbers = memory[0].read(Message(*eval(line)))
    room = memory[1].room(numbers.shape)
    room[:] = 2 * numbers
    print(repr(tuple(memory[1].write((name, room, room[:0])))), flush=True)
"""


@pytest.fixture
def other():
    command = [sys.executable, "-c", DOUBLE]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def answer(line):
        print(line, file=process.stdin, flush=True)
        return process.stdout.readline().strip()

    yield answer
    process.stdin.close()
    process.wait(20)
    process.stdout.close()


def test_messages_of_all_sizes_are_read_by_another_process(other):
    questions, answers = SharedMemory.made(), SharedMemory.made()
    assert other(f"{tuple(questions.handle)}\n{tuple(answers.handle)}") == "True"
    for size in (3, 0, 100_000, 7, 300_000):
        numbers = np.arange(2 * size).reshape(2, size)
        sent = questions.write(("doubled", numbers))
        assert len(sent.pickled) < 500  # the numbers are not in the message
        answer = Message(*eval(other(repr(tuple(sent)))))
        name, found, empty = answers.read(answer)
        assert name == "doubled" and found.shape == (2, size) and empty.size == 0
        assert np.array_equal(found, 2 * numbers)
        assert answer.places[0] == (0, found.nbytes)  # it was computed in its place


def test_what_is_kept_is_copied():
    memory = SharedMemory.made()
    first = memory.write(np.arange(5))
    kept, lent = memory.read(first, copied=True), memory.read(first)
    memory.write(np.arange(5) + 10)
    assert kept.tolist() == [0, 1, 2, 3, 4]
    assert lent.tolist() == [10, 11, 12, 13, 14]
    memory.close()
    assert lent.tolist() == [10, 11, 12, 13, 14]


def test_memory_of_another_machine_is_not_joined():
    """A process there may have the number that another one has here."""
    memory = SharedMemory.made()
    process, descriptor, name = memory.handle
    assert SharedMemory.joined(memory.handle) is not None
    assert SharedMemory.joined(Handle(process, descriptor, "dplasso-" + 32 * "0")) is None
    assert SharedMemory.joined(Handle(1 << 22, descriptor, name)) is None
    memory.close()
    assert SharedMemory.joined(Handle(process, descriptor, name)) is None


def test_memory_grows_but_nobody_can_cut_it_off():
    """A process that reads what another one has cut off is killed by the system."""
    memory = SharedMemory.made()
    memory.write(np.arange(1000))
    joined = SharedMemory.joined(memory.handle)
    with pytest.raises(PermissionError):
        os.ftruncate(joined._descriptor, 0)
    with pytest.raises(PermissionError):
        fcntl.fcntl(joined._descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW)
    sent = joined.write(np.arange(100_000))
    assert memory.read(sent).sum() == 99_999 * 50_000


def test_memory_is_for_its_user_and_is_known_by_its_whole_name(tmp_path):
    memory = SharedMemory.made()
    assert os.fstat(memory._descriptor).st_mode & 0o777 == 0o600
    assert not os.get_inheritable(memory._descriptor)
    process, descriptor, name = memory.handle
    for other in ("", "dplasso", name[:-1]):
        assert SharedMemory.joined(Handle(process, descriptor, other)) is None
    with open(tmp_path / f"memfd:{name} ", "w") as file:  # a file of that name is none
        assert SharedMemory.joined(Handle(process, file.fileno(), name)) is None
