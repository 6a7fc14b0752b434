"""Files in svmlight (libsvm) format: ``label index:value index:value ... # comment``."""

import math
import os
import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplasso.base import checks
from dplasso.base import threads as pool
from dplasso.base.wording import Message, Setting
from dplasso.data.row_chunks import RowChunk
from dplasso.kernels import svmlight as kernels
from dplasso.reading import byte_source
from dplasso.reading.byte_source import LONGEST_LINE, Progress, line_blocks

_USUAL_NUMBER = 64  # bytes
_NUMBER = re.compile(rb"[^#\s]*")
_LARGEST_INDEX = np.iinfo(np.int32).max

_REASONS: dict[int, str | Message] = {
    kernels.NOT_A_NUMBER: "something stands where a decimal number should; correct the line",
    kernels.NOT_FINITE: "a number is infinite, not a number or too large; remove or replace it",
    kernels.NO_LABEL: "there is no label before the pairs; put one in front",
    kernels.MULTILABEL: "the row has several labels, which is not supported; keep one",
    kernels.NOT_A_PAIR: "something stands where index:value should; correct the line",
    kernels.UNORDERED: "indices must rise from pair to pair; sort them and merge duplicates",
    kernels.INDEX_TOO_SMALL: Message(
        "an index is negative, or 0 where they start at 1; correct it, or pass {zero_based} if "
        "they start at 0",
        zero_based=Setting("zero_based", True),
    ),
    kernels.INDEX_TOO_LARGE: Message(
        "an index is beyond the number of columns, or beyond 2147483647; correct it or raise "
        "{n_features}"
    ),
    kernels.BAD_QUERY: "qid: must be followed by a whole number; correct or remove it",
}


class LineError(ValueError):
    """A line is rejected; the error names its number, counted from 1."""

    def __init__(self, line: int, reason: str | Message, path: str = "") -> None:
        self.line, self.reason, self.path = line, reason, path
        where = f"{path}, line {line}" if path else f"line {line}"
        super().__init__(Message("{where}: {reason}", where=where, reason=reason))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.line, self.reason, self.path)


def svmlight_chunks(
    path: str | os.PathLike[str],
    *,
    n_features: int | None = None,
    zero_based: bool,
    longest_line: int = LONGEST_LINE,
    progress: Progress | None = None,
) -> Iterator[RowChunk]:
    """Yield the rows of a file, plain or compressed, in chunks whose indices start at 0.

    A line is either read as scikit-learn reads it, or rejected with its number: data must be
    finite, and the only extra allowed is a ``qid``, which is skipped. A line of more than
    ``longest_line`` bytes, which would take about 8 times as much memory, is rejected too.
    """
    base = 0 if zero_based else 1
    last, lines, size = _last_index(n_features, base), 0, byte_source.BLOCK
    blocks_of_file = line_blocks(path, size=size, longest_line=longest_line, progress=progress)
    with closing(blocks_of_file) as blocks:
        for block in blocks:
            calls = [(text, base, last) for text in _split(block, pool.available())]
            for chunk, reason, line in pool.run(_parse, calls):
                lines += line
                if reason:
                    raise LineError(lines + 1, _REASONS[reason], os.fspath(path))
                if chunk.rows:
                    yield chunk


def svmlight_rows(text: bytes, *, n_features: int, zero_based: bool) -> RowChunk:
    """The rows of a text of whole lines; an error names the number of a rejected line."""
    base = 0 if zero_based else 1
    block = np.frombuffer(text, np.uint8)
    chunk, reason, line = _parse(block, base, _last_index(n_features, base))
    if reason:
        raise LineError(line + 1, _REASONS[reason])
    return chunk


def _last_index(n_features: int | None, base: int) -> int:
    if n_features is not None:
        checks.count("n_features", n_features, least=1)
    return _LARGEST_INDEX if n_features is None else min(n_features - 1 + base, _LARGEST_INDEX)


def _split(block: NDArray[np.uint8], parts: int) -> list[NDArray[np.uint8]]:
    """Split the block into at most ``parts`` parts of whole lines."""
    goals = [first for first, _ in pool.even_runs(len(block), parts)][1:]
    edges = sorted({0, *(kernels.after_line(block, goal - 1) for goal in goals), len(block)})
    return [block[a:b] for a, b in zip(edges[:-1], edges[1:], strict=True)]


def _parse(text: NDArray[np.uint8], base: int, last: int) -> tuple[RowChunk, int, int]:
    """The rows of a text, the code of its error (0 if none), and the number of lines before it."""
    lines, colons = kernels.count(text)
    labels, indptr = np.empty(lines), np.empty(lines + 1, np.int64)
    indices, values = np.empty(colons, np.int32), np.empty(colons)
    rows, entries, undecided, reason, line = kernels.parse(
        text, base, last, labels, indptr, indices, values
    )
    chunk = RowChunk(labels[:rows], indptr[: rows + 1], indices[:entries], values[:entries])
    if undecided:
        for numbers in (chunk.labels, chunk.values):
            infinite = _decide(text, numbers)
            if infinite is not None and infinite < line:
                reason, line = kernels.NOT_FINITE, infinite
    return chunk, reason, line


def number_at(text: NDArray[np.uint8], position: int) -> bytes:
    """The text from ``position`` to the next blank, "#" or line end.

    At most about twice its length is copied, not the rest of the line, which may hold many numbers.
    """
    size = _USUAL_NUMBER
    while True:
        some = text[position : position + size].tobytes()
        number: bytes = _NUMBER.findall(some)[0]
        if len(number) < size:
            return number
        size *= 2


def _decide(text: NDArray[np.uint8], numbers: NDArray[np.float64]) -> int | None:
    """Replace undecided numbers by `float` of their text; return the line of an infinite one."""
    for place in np.flatnonzero(np.isnan(numbers)):
        position = int(numbers[place : place + 1].view(np.int64)[0]) & kernels.POSITION_BITS
        numbers[place] = float(number_at(text, position))
        if math.isinf(numbers[place]):
            return int(np.count_nonzero(text[:position] == ord("\n")))
    return None
