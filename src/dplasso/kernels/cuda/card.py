"""The card: the runtime is CuPy's, the kernels are ours."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from dplasso.base.extras import require
from dplasso.base.wording import ParameterError, Setting
from dplasso.kernels.cuda.device import USUAL, Buffer, Kinds
from dplasso.kernels.cuda.hard_cases import check
from dplasso.kernels.cuda.source import macros, source

# No fused multiply-add, no flush to zero, divisions and roots rounded correctly: every number is
# that of the processor.
_OPTIONS = ("-std=c++17", "--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true")
# Threads of a block: as many warps as the kernel has room for, and otherwise the usual number.
_THREADS = {"draw_buffers": 128, "add_draws": 1024}
_USUAL_THREADS = 256
_THREADS_OF_PROCESSOR = 2048
_SIDES = 2  # streams for launches beside others


class NoCardError(ParameterError):
    """``device="cuda"`` was asked for, and there is no card that can be used."""


@cache
def checked_card() -> "Card":
    """The card, once it has shown that it computes as the processor does.

    Formal guarantees
    -----------------
    A card is returned only if it has the processor's bits in all of a fixed vector of hard cases
    (`dplasso.kernels.cuda.hard_cases`).
    """
    found = Card()
    check(found)
    return found


class Card:
    """The first NVIDIA card that the process sees (`dplasso.kernels.cuda.device.Device`)."""

    def __init__(self) -> None:
        self._cupy = require("cupy", extra="gpu", purpose="a fit on a card")
        runtime = self._cupy.cuda.runtime
        try:
            count = runtime.getDeviceCount()
        except runtime.CUDARuntimeError:  # there is no driver
            count = 0
        if not count:
            raise NoCardError(
                "{cuda} needs an NVIDIA card with its driver, and none is visible to this process; "
                "pass {cpu}, which gives the same model",
                cuda=Setting("device", "cuda"),
                cpu=Setting("device", "cpu"),
            )
        facts = runtime.getDeviceProperties(0)
        self.name = facts["name"].decode()
        self._processors = int(facts["multiProcessorCount"])
        self._stream = self._cupy.cuda.Stream(non_blocking=True)
        self._sides = [self._cupy.cuda.Stream(non_blocking=True) for _ in range(_SIDES)]
        self._started = 0  # launches beside others
        self._current = self._stream
        self._modules: dict[Kinds, Any] = {}
        self._functions: dict[tuple[str, Kinds], Any] = {}

    def put(self, array: NDArray[Any]) -> Buffer:
        with self._stream:
            return self._cupy.array(array)

    def zeros(self, shape: int | tuple[int, ...], kind: DTypeLike) -> Buffer:
        with self._stream:
            return self._cupy.zeros(shape, kind)

    def empty(self, shape: int | tuple[int, ...], kind: DTypeLike) -> Buffer:
        with self._stream:
            return self._cupy.empty(shape, kind)

    def set(self, buffer: Buffer, array: NDArray[Any]) -> None:
        buffer.set(array, stream=self._stream)

    def clear(self, buffer: Buffer) -> None:
        buffer.data.memset_async(0, buffer.nbytes, self._current)

    def get(self, buffer: Buffer) -> NDArray[Any]:
        with self._stream:
            found: NDArray[Any] = buffer.get()
        return found

    def launch(self, kernel: str, work: int, *arguments: Any, kinds: Kinds = USUAL) -> None:
        function = self._functions.get((kernel, kinds)) or self._compiled(kernel, kinds)
        threads = _THREADS.get(kernel, _USUAL_THREADS)
        most = self._processors * (_THREADS_OF_PROCESSOR // threads)
        blocks = max(1, min(-(-work // threads), most))
        with self._current:
            function((blocks,), (threads,), tuple(map(_passed, arguments)))

    def mailbox(self, size: int, kind: DTypeLike) -> "_CardMailbox":
        return _CardMailbox(self, self._pinned(np.zeros(size, kind)), self.zeros(size, kind))

    def wait(self) -> None:
        self._stream.synchronize()

    def beside(self, launches: Callable[[], None]) -> Any:
        side = self._sides[self._started % _SIDES]
        self._started += 1
        side.wait_event(self._stream.record())
        self._current = side
        try:
            launches()
        finally:
            self._current = self._stream
        return side.record()

    def join(self, started: Any) -> None:
        self._stream.wait_event(started)

    def recorded(self, launches: Callable[[], None]) -> Callable[[], None]:
        self._stream.begin_capture()
        try:
            launches()
        finally:
            graph = self._stream.end_capture()
        return lambda: graph.launch(self._stream)

    def room(self) -> int:
        pool = self._cupy.get_default_memory_pool()
        return int(self._cupy.cuda.runtime.memGetInfo()[0] + pool.free_bytes())

    def staged(self, parts: Sequence[Sequence[NDArray[Any] | None]]) -> Any:
        return [
            [None if array is None else self._pinned(array) for array in part] for part in parts
        ]

    def through(self, staged: Any) -> Iterator[Sequence[Buffer | None]]:
        copying = self._cupy.cuda.Stream(non_blocking=True)
        rooms: Any = [self._room_for(staged), self._room_for(staged)]
        copied, used = [None, None], [None, None]  # events, by turn
        filled: list[Any] = [[], []]

        def fill(which: int) -> None:
            turn = which % 2
            if used[turn] is not None:
                copying.wait_event(used[turn])
            pairs = list(zip(staged[which], rooms[turn], strict=True))
            filled[turn] = [None if a is None else room[: a.size] for a, room in pairs]
            for array, buffer in zip(staged[which], filled[turn], strict=True):
                if array is not None:
                    buffer.set(array, stream=copying)
            copied[turn] = copying.record()

        # The rooms may have been in use a moment ago.
        self._stream.synchronize()
        fill(0)
        for which in range(len(staged)):
            if which + 1 < len(staged):
                fill(which + 1)
            self._stream.wait_event(copied[which % 2])
            yield filled[which % 2]
            used[which % 2] = self._stream.record()
        self._stream.synchronize()

    def _room_for(self, staged: Any) -> list[Buffer | None]:
        """Buffers that hold any of the parts."""
        room: list[Buffer | None] = []
        for arrays in zip(*staged, strict=True):
            first = arrays[0]
            size = 0 if first is None else max(array.size for array in arrays)
            room.append(None if first is None else self.empty(size, first.dtype))
        return room

    def _pinned(self, array: NDArray[Any]) -> NDArray[Any]:
        memory = self._cupy.cuda.alloc_pinned_memory(max(array.nbytes, 1))
        held = np.frombuffer(memory, array.dtype, array.size)
        held[:] = array
        return held

    def copy(self, to: int, source: int, size: int, *, to_card: bool) -> None:
        """Copy between a mailbox's two addresses."""
        runtime = self._cupy.cuda.runtime
        kind = runtime.memcpyHostToDevice if to_card else runtime.memcpyDeviceToHost
        runtime.memcpyAsync(to, source, size, kind, self._stream.ptr)

    def _compiled(self, kernel: str, kinds: Kinds) -> Any:
        if kinds not in self._modules:
            defined = [f"-D{name}={number}" for name, number in macros(*kinds).items()]
            code = self._cupy.RawModule(code=source(), options=(*_OPTIONS, *defined))
            self._modules[kinds] = code
        found = self._functions[kernel, kinds] = self._modules[kinds].get_function(kernel)
        return found


class _CardMailbox:
    """A mailbox (`dplasso.kernels.cuda.device.Mailbox`) whose host side is pinned."""

    def __init__(self, card: Card, host: NDArray[Any], buffer: Buffer) -> None:
        self.host, self.buffer, self._card = host, buffer, card

    def send(self) -> None:
        address = self.host.ctypes.data
        self._card.copy(self.buffer.data.ptr, address, self.host.nbytes, to_card=True)

    def fetch(self) -> None:
        address = self.host.ctypes.data
        self._card.copy(address, self.buffer.data.ptr, self.host.nbytes, to_card=False)


def _passed(argument: Any) -> Any:
    """An argument with the type that kernels declare."""
    if argument is None:
        return np.uint64(0)
    if isinstance(argument, int | np.integer):
        return np.int64(argument)
    return np.float64(argument) if isinstance(argument, float) else argument
