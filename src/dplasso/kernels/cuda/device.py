"""What kernels are run on: memory, copies and launches."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

# An array in the device's memory: it has a shape, a dtype and slices.
Buffer = Any


# Types of the values of a matrix; none are stored if all are 1.
VALUES: tuple[DTypeLike | None, ...] = (None, np.int8, np.int32, np.float32, np.float64)


class Kinds(NamedTuple):
    """The types of a matrix that kernels are compiled for."""

    index_bytes: int = 4
    value_kind: int = 0  # place in VALUES

    @classmethod
    def of(cls, indices: NDArray[Any], values: NDArray[Any] | None) -> "Kinds":
        """The types of a matrix's arrays."""
        return cls(indices.itemsize, 0 if values is None else VALUES.index(values.dtype.type))

    @property
    def bytes(self) -> int:
        """Bytes of an entry."""
        return sum(np.dtype(kind).itemsize for kind in self.types if kind is not None)

    @property
    def types(self) -> tuple[DTypeLike, DTypeLike | None]:
        """The types of indices and of values; the latter is None if none are stored."""
        return np.int64 if self.index_bytes == 8 else np.int32, VALUES[self.value_kind]


# Kernels that read no matrix are those of this one.
USUAL = Kinds()


class Mailbox(Protocol):
    """A few numbers that go to the device or come back at every step.

    ``host`` is an array in this machine's memory, ``buffer`` its counterpart on the device. A copy
    is done in its turn, like a launch: `Device.wait` waits for it.
    """

    host: NDArray[Any]
    buffer: Buffer

    def send(self) -> None:
        """Copy ``host`` to the device."""

    def fetch(self) -> None:
        """Copy ``buffer`` from the device."""


class Device(Protocol):
    """A card, or what stands in for one.

    Work is done in the order in which it was asked for. Only `get` and `wait` wait for it.
    """

    name: str

    def put(self, array: NDArray[Any]) -> Buffer:
        """A copy of an array on the device."""

    def zeros(self, shape: int | tuple[int, ...], kind: DTypeLike) -> Buffer:
        """An array of zeros."""

    def empty(self, shape: int | tuple[int, ...], kind: DTypeLike) -> Buffer:
        """An array of anything."""

    def set(self, buffer: Buffer, array: NDArray[Any]) -> None:
        """Overwrite a buffer by an array of its shape and type."""

    def clear(self, buffer: Buffer) -> None:
        """Overwrite a buffer by zeros."""

    def get(self, buffer: Buffer) -> NDArray[Any]:
        """A copy of a buffer in this machine's memory."""

    def launch(self, kernel: str, work: int, *arguments: Any, kinds: Kinds = USUAL) -> None:
        """Run a kernel on ``work`` threads, or fewer that take turns.

        Whole numbers are passed as int64, floats as binary64, buffers as their address, and None as
        no address.
        """

    def mailbox(self, size: int, kind: DTypeLike) -> Mailbox:
        """A mailbox of so many zeros."""

    def wait(self) -> None:
        """Wait until all work is done."""

    def beside(self, launches: Callable[[], None]) -> Any:
        """Start launches that may run at the same time as those asked for next.

        They begin after what was asked for before, whether or not other launches that were started
        so have ended. Returns what `join` takes.
        """

    def join(self, started: Any) -> None:
        """Do what is asked for next after launches that were started `beside`."""

    def recorded(self, launches: Callable[[], None]) -> Callable[[], None]:
        """What repeats the launches, clears and copies of mailboxes that a call makes.

        They are not run while they are recorded.
        """

    def room(self) -> int:
        """Bytes of memory that are free."""

    def staged(self, parts: Sequence[Sequence[NDArray[Any] | None]]) -> Any:
        """Keep parts in this machine's memory, in a form from which they are copied quickly."""

    def through(self, staged: Any) -> Iterator[Sequence[Buffer | None]]:
        """Copy staged parts one after the other to the device, the next while one is in use."""
