"""A twin of the card on the processor: the same kernels and the same calls, compiled as C++.

``platform.h`` and ``lanes.h`` replace the file of the kernels that speaks to the card. The first
has one thread of one lane. The second has a block of two warps whose lanes are threads, so that
what lanes pass to each other is tested, too.
"""

import ctypes
import hashlib
import importlib.util
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from dplasso.kernels.cuda.device import USUAL, Kinds
from dplasso.kernels.cuda.source import macros, source

_THREADS = 64  # of ``lanes.h``
# No fused multiply-add, and no other liberty with floating point.
_FLAGS = ("-std=c++17", "-O2", "-ffp-contract=off", "-shared", "-fPIC", "-w")


class Twin:
    """A device (`dplasso.kernels.cuda.device.Device`) whose memory is this machine's.

    It notes which kernels were launched, and how many bytes were copied.
    """

    name = "twin"

    def __init__(
        self, *, lanes: bool = False, room: int = 1 << 40, flags: tuple[str, ...] = ()
    ) -> None:
        self._lanes, self._room, self._flags = lanes, room, flags
        self._pool = ThreadPoolExecutor(_THREADS) if lanes else None
        self.launched: list[str] = []
        self._beside: list[Callable[[], None]] = []
        self.copied = 0

    def put(self, array: np.ndarray) -> np.ndarray:
        self.copied += array.nbytes
        return array.copy()

    def zeros(self, shape: Any, kind: Any) -> np.ndarray:
        return np.zeros(shape, kind)

    def empty(self, shape: Any, kind: Any) -> np.ndarray:
        # Whatever is read before it is written spoils a result.
        return (
            np.frombuffer(b"\x5a" * int(np.prod(shape) * np.dtype(kind).itemsize), kind)
            .reshape(shape)
            .copy()
        )

    def set(self, buffer: np.ndarray, array: np.ndarray) -> None:
        assert buffer.dtype == array.dtype and buffer.shape == array.shape
        self.copied += array.nbytes
        buffer[...] = array

    def clear(self, buffer: np.ndarray) -> None:
        assert buffer.flags.c_contiguous
        buffer[...] = 0

    def get(self, buffer: np.ndarray) -> np.ndarray:
        self.copied += buffer.nbytes
        return buffer.copy()

    def launch(self, kernel: str, work: int, *arguments: Any, kinds: Kinds = USUAL) -> None:
        assert work >= 0
        self.launched.append(kernel)
        library = _library("lanes.h" if self._lanes else "platform.h", kinds, self._flags)
        passed = [_passed(argument) for argument in arguments]
        function = getattr(library, kernel)
        if self._pool is None:
            function(*passed)
            return

        def one(thread: int) -> None:
            library.enter(ctypes.c_int64(thread))
            function(*passed)

        list(self._pool.map(one, range(_THREADS)))

    def mailbox(self, size: int, kind: Any) -> "TwinMailbox":
        return TwinMailbox(self, np.zeros(size, kind), np.zeros(size, kind))

    def wait(self) -> None:
        pass

    def beside(self, launches: Callable[[], None]) -> Callable[[], None]:
        """They run at the last moment, so that what does not wait for them goes wrong."""
        self._beside.append(launches)
        return launches

    def join(self, started: Callable[[], None]) -> None:
        self._beside.remove(started)
        started()

    def recorded(self, launches: Callable[[], None]) -> Callable[[], None]:
        return launches

    def room(self) -> int:
        return self._room

    def staged(self, parts: Sequence[Any]) -> Any:
        return parts

    def through(self, staged: Any) -> Iterator[Any]:
        # Two rooms in turn, as on a card: a part that outlives its turn is overwritten.
        rooms: list[Any] = [None, None]
        for which, part in enumerate(staged):
            for old in rooms[which % 2] or ():
                if old is not None:
                    old[...] = 0
            rooms[which % 2] = [None if array is None else self.put(array) for array in part]
            yield rooms[which % 2]


class TwinMailbox:
    """A mailbox (`dplasso.kernels.cuda.device.Mailbox`) in this machine's memory."""

    def __init__(self, twin: Twin, host: np.ndarray, buffer: np.ndarray) -> None:
        self.host, self.buffer, self._twin = host, buffer, twin

    def send(self) -> None:
        self._twin.set(self.buffer, self.host)

    def fetch(self) -> None:
        self.host[...] = self._twin.get(self.buffer)


def _passed(argument: Any) -> Any:
    if argument is None:
        return ctypes.c_void_p(0)
    if isinstance(argument, np.ndarray):
        assert argument.flags.c_contiguous or argument.ndim <= 1
        return ctypes.c_void_p(argument.ctypes.data)
    if isinstance(argument, float):
        return ctypes.c_double(argument)
    return ctypes.c_int64(int(argument))


@cache
def _library(platform: str, kinds: Kinds, flags: tuple[str, ...]) -> ctypes.CDLL:
    text = source((Path(__file__).parent / platform).read_text())
    defined = [f"-D{name}={number}" for name, number in macros(*kinds).items()]
    command = [*_compiler(), *_FLAGS, *flags, *defined]
    digest = hashlib.sha256("\0".join([text, *command]).encode()).hexdigest()[:24]
    folder = Path(tempfile.gettempdir()) / "dplasso_twin"
    folder.mkdir(exist_ok=True)
    found = folder / f"{digest}.so"
    if not found.exists():
        with tempfile.TemporaryDirectory(dir=folder) as work:
            program, library = Path(work) / "kernels.cpp", Path(work) / "kernels.so"
            program.write_text(text)
            run = [*command, str(program), "-o", str(library)]
            subprocess.run(run, check=True, capture_output=True, text=True)
            library.replace(found)
    loaded = ctypes.CDLL(str(found))
    if platform == "lanes.h":
        loaded.prepare()
    return loaded


def _compiler() -> list[str]:
    """The machine's C++ compiler, or that of the package ``ziglang``."""
    for name in ("c++", "g++", "clang++"):
        if found := shutil.which(name):
            return [found]
    assert importlib.util.find_spec("ziglang"), "install a C++ compiler, or ziglang"
    return [sys.executable, "-m", "ziglang", "c++"]
