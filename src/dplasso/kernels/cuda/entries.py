"""The entries of a matrix on a device, compressed by rows or by columns, and sums over them."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplasso.base.arrays import Ints
from dplasso.kernels.cuda.device import Device, Kinds

# Segments of up to this many entries take one lane each, and the others eight, if most are that
# short. Otherwise a segment takes 8 lanes, or 32 from a mean length on.
_SHORT, _LONG_MEAN = 8, 200.0
# Longest segments that 1, 8 and 32 lanes sum on their own, and the pieces of longer ones.
_LONGEST = {1: _SHORT, 8: 512, 32: 2048}
_PIECE = 2048
_FEW, _WARP = 8, 32


class Part(NamedTuple):
    """Some segments: where each starts, their entries, and the pieces of long ones.

    A piece is a segment, and its first and last entry in this part. Some are summed by 8 lanes, the
    longest by 32. Arrays are in the device's memory, or all of them in this machine's.
    """

    starts: Any
    others: Any
    values: Any | None
    few_segments: Any
    few_begins: Any
    few_ends: Any
    warp_segments: Any
    warp_begins: Any
    warp_ends: Any

    @property
    def pieces(self) -> tuple[tuple[int, tuple[Any, Any, Any]], ...]:
        """The pieces of long segments, by the number of lanes."""
        return (_FEW, tuple(self[3:6])), (_WARP, tuple(self[6:9]))


class Entries:
    """A compressed matrix whose segments (rows, or columns) are summed.

    ``starts``, ``others`` and ``values`` are the arrays of a compressed matrix in this machine's
    memory. They are copied to the device once if they fit into ``room`` bytes. Otherwise they are
    cut into parts of half that size, which are copied whenever a sum is asked for.
    """

    def __init__(
        self,
        device: Device,
        starts: Ints,
        others: NDArray[Any],
        values: NDArray[Any] | None,
        room: int,
    ) -> None:
        self._device = device
        self.kinds = Kinds.of(others, values)
        self._lanes = _lanes_for(starts)
        self._starts = starts
        edges = _edges(starts, room // self.kinds.bytes)
        self._firsts = edges[:-1]
        parts = [
            _part(starts[a : b + 1], others, values, a, self._lanes)
            for a, b in zip(edges[:-1], edges[1:], strict=True)
        ]
        # What decides is the number of entries alone.
        self.resident = len(parts) == 1
        self._parts: Any = [_put(device, parts[0])] if self.resident else device.staged(parts)

    @classmethod
    def transposed(cls, columns: "Entries", rows: int, entries: int) -> "Entries":
        """The same entries by rows, made on the device; ``columns`` must be resident."""
        device, kinds = columns._device, columns.kinds
        lengths = device.zeros(rows, np.uint64)
        columns.sum("tally", lengths)
        starts = np.zeros(rows + 1, np.int64)
        np.cumsum(device.get(lengths), out=starts[1:])
        found = cls.__new__(cls)
        found._device, found.kinds, found._starts = device, kinds, starts
        found._lanes = _lanes_for(starts)
        index, value = kinds.types
        others = device.empty(entries, index)
        values = None if value is None else device.empty(entries, value)
        columns.sum("scatter", device.put(starts[:-1].astype(np.uint64)), others, values)
        pieces = _pieces(starts, 0, found._lanes)
        part = Part(device.put(starts), others, values, *map(device.put, pieces))
        found._firsts, found._parts, found.resident = [0], [part], True
        return found

    def sum(self, kernel: str, *facts: Any) -> None:
        """Run a kernel of ``segments.cuh`` over all segments."""
        launch, kinds = self._device.launch, self.kinds
        for first, part in self._on_device():
            count = len(part.starts) - 1
            matrix = (part.others, part.values)
            segments = (first, count, part.starts, *matrix, _LONGEST[self._lanes], *facts)
            launch(f"{kernel}_{self._lanes}", count * self._lanes, *segments, kinds=kinds)
            for lanes, pieces in part.pieces:
                if number := len(pieces[0]):
                    facts_of_pieces = (number, *pieces, *matrix, *facts)
                    name = f"{kernel}_pieces_{lanes}"
                    launch(name, number * lanes, *facts_of_pieces, kinds=kinds)

    def one(self, kernel: str, segment: int, facts: tuple[Any, ...], *out: Any) -> None:
        """Run a kernel on the entries of one segment.

        It is called with their first and last place, ``facts``, the entries, and ``out``.
        """
        which = int(np.searchsorted(self._firsts, segment, side="right")) - 1
        part = Part(*self._parts[which])
        offset = self._starts[self._firsts[which]]
        begin, end = (self._starts[segment : segment + 2] - offset).tolist()
        others, values = part.others, part.values
        if not self.resident:
            others = self._device.put(others[begin:end])
            values = None if values is None else self._device.put(values[begin:end])
            begin, end = 0, end - begin
        matrix = (others, values)
        self._device.launch(
            kernel, end - begin, begin, end, *facts, *matrix, *out, kinds=self.kinds
        )

    def _on_device(self) -> Iterator[tuple[int, Part]]:
        if self.resident:
            yield 0, self._parts[0]
            return
        for first, arrays in zip(self._firsts, self._device.through(self._parts), strict=True):
            yield first, Part(*arrays)


def _lanes_for(starts: Ints) -> int:
    """Lanes for a segment, by the lengths of all of them."""
    count = max(len(starts) - 1, 1)
    if 2 * np.count_nonzero(np.diff(starts) <= _SHORT) >= count:
        return 1
    return _FEW if starts[-1] < _LONG_MEAN * count else _WARP


def _edges(starts: Ints, room: int) -> list[int]:
    """Segments at which parts begin: one part if there is room for all entries.

    Otherwise any two parts fit, unless a single segment is longer than that.
    """
    edges, count = [0], len(starts) - 1
    if starts[-1] <= room:
        return [0, count]
    while edges[-1] < count:
        end = int(np.searchsorted(starts, starts[edges[-1]] + room // 2, side="right")) - 1
        edges.append(min(max(end, edges[-1] + 1), count))
    return edges


def _part(
    starts: Ints, others: NDArray[Any], values: NDArray[Any] | None, first: int, lanes: int
) -> Part:
    run = slice(int(starts[0]), int(starts[-1]))
    own = None if values is None else values[run]
    return Part(starts, others[run], own, *_pieces(starts, first, lanes))


def _put(device: Device, part: Part) -> Part:
    return Part(*[None if array is None else device.put(array) for array in part])


def _pieces(starts: Ints, first: int, lanes: int) -> tuple[Ints, ...]:
    """Pieces of segments that are too long for their lanes: for 8 lanes, and for 32."""
    lengths = np.diff(starts)
    for_few = _LONGEST[_FEW] if lanes < _FEW else _LONGEST[lanes]
    few = np.flatnonzero((lengths > _LONGEST[lanes]) & (lengths <= for_few))
    begins = starts[few] - starts[0]
    long = np.flatnonzero(lengths > for_few)
    counts = -(-lengths[long] // _PIECE)
    segments = np.repeat(long, counts)
    within = np.arange(len(segments)) - np.repeat(np.cumsum(counts) - counts, counts)
    pieces = starts[segments] - starts[0] + within * _PIECE
    ends = np.minimum(pieces + _PIECE, starts[segments + 1] - starts[0])
    return few + first, begins, begins + lengths[few], segments + first, pieces, ends
