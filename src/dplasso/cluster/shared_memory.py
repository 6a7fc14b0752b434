"""Messages between processes of one machine, whose arrays are read where they were written.

An array that is sent through Ray is copied into its store, registered there, looked up and freed
again. That takes several times as long as the copy.
"""

import contextlib
import mmap
import os
import pickle
import secrets
from typing import Any, NamedTuple, Self

import numpy as np

from dplasso.base import threads as pool
from dplasso.base.arrays import Ints

try:
    import fcntl
except ImportError:  # Windows, which has no such memory either
    fcntl = None  # type: ignore[assignment]

ALIGNED = 64  # bytes: arrays start at multiples of it


class Handle(NamedTuple):
    """How another process of the machine finds shared memory."""

    process: int
    descriptor: int
    name: str


class Message(NamedTuple):
    """An object, without the contents of its arrays, and the places of these in shared memory."""

    pickled: bytes
    places: tuple[tuple[int, int], ...]  # first byte and number of bytes


class SharedMemory:
    """Memory that one process makes and others of its user and machine join.

    It has no name in any file system, so nothing of it is left once its processes have ended,
    however they end. It is never written to a file. It grows as messages need it, and is sealed
    against shrinking, which would end every process that reads what was cut off.
    """

    def __init__(self, descriptor: int, name: str) -> None:
        self._descriptor, self._name = descriptor, name
        self._bytes: Any = np.empty(0, np.uint8)
        self._used = 0  # bytes at the start that hold `room`

    @classmethod
    def made(cls) -> "Self | None":
        """New memory; None on systems that have no such memory."""
        if not hasattr(os, "memfd_create"):
            return None
        name = f"dplasso-{secrets.token_hex(16)}"
        descriptor = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.fchmod(descriptor, 0o600)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)
        return cls(descriptor, name)

    @classmethod
    def joined(cls, handle: Handle) -> "Self | None":
        """The memory of another process; None if that is on another machine, or of another user."""
        path = f"/proc/{handle.process}/fd/{handle.descriptor}"
        with contextlib.suppress(OSError):
            # A process of another machine may have the same number here. Names differ.
            if _is_memory(path, handle.name):
                descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
                # Another process may have taken the number since.
                if _is_memory(f"/proc/self/fd/{descriptor}", handle.name):
                    return cls(descriptor, handle.name)
                os.close(descriptor)
        return None

    @property
    def handle(self) -> Handle:
        """What `joined` of another process takes."""
        return Handle(os.getpid(), self._descriptor, self._name)

    def room(self, shape: tuple[int, ...]) -> Ints:
        """An array of integers at the start, for a message that is computed in its place.

        It is used again by the next message.
        """
        self._used = 8 * int(np.prod(shape))
        self._reach(self._used)
        found: Ints = self._bytes[: self._used].view(np.int64).reshape(shape)
        return found

    def write(self, message: Any) -> Message:
        """Write the arrays of a message. They take the place of those of the last one."""
        buffers: list[pickle.PickleBuffer] = []
        pickled = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
        arrays = [np.frombuffer(buffer.raw(), np.uint8) for buffer in buffers]
        places, end = [], _aligned(self._used)
        for array in arrays:
            if (here := self._place_of(array)) is not None:
                places.append((here, array.size))
            else:
                places.append((end, array.size))
                end = _aligned(end + array.size)
        self._reach(end)
        for array, (start, size) in zip(arrays, places, strict=True):
            if start >= self._used:
                _copy_all(array, self._bytes[start : start + size])
        self._used = 0
        return Message(pickled, tuple(places))

    def read(self, message: Message, *, copied: bool = False) -> Any:
        """A message that another process wrote; the next one overwrites arrays not ``copied``."""
        self._reach(max((start + size for start, size in message.places), default=0))
        buffers = [self._bytes[start : start + size] for start, size in message.places]
        if copied:
            buffers = [buffer.copy() for buffer in buffers]
        return pickle.loads(message.pickled, buffers=buffers)

    def close(self) -> None:
        """Let go of it; arrays that were read stay valid."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor, self._bytes = -1, np.empty(0, np.uint8)

    def _place_of(self, array: Any) -> int | None:
        """Where an array is in the room that was handed out; None if it is elsewhere."""
        start = _address(array) - _address(self._bytes) if array.size else -1
        return start if start >= 0 and start + array.size <= self._used else None

    def _reach(self, size: int) -> None:
        """Map at least this many bytes; arrays in earlier maps stay valid."""
        if size <= self._bytes.size:
            return
        if os.fstat(self._descriptor).st_size < size:
            os.posix_fallocate(self._descriptor, 0, size)
        whole = os.fstat(self._descriptor).st_size
        self._bytes = np.frombuffer(mmap.mmap(self._descriptor, whole), np.uint8)


def _is_memory(path: str, name: str) -> bool:
    """Whether an open descriptor is of the memory with a name."""
    return os.readlink(path).startswith(f"/memfd:{name} ")


def _copy_all(source: Any, to: Any) -> None:
    runs = pool.even_runs(source.size, pool.worth(source.size // 8))
    pool.run(np.copyto, [(to[a:b], source[a:b]) for a, b in runs])


def _aligned(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED


def _address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])
