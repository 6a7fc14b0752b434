"""Fast integer Gaussian noise, drawn from a table of cells by integer comparisons.

See ``mechanisms/gaussian_cells.py`` for the law and why a draw follows it exactly. A draw takes two
random words. The first chooses a sign and, by Walker's alias method, a cell; the second chooses a
place in the cell and decides whether that place is kept. An integer comparison nearly always
decides. A few per cent of the draws need an exponential. Draws that its rounding could decide are
not decided here: they are returned to the caller with their state.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from dplasso.kernels.arithmetic import exponential
from dplasso.kernels.chacha import BLOCKS, WORDS, fill, first_words
from dplasso.kernels.turns import next_run

# Boxes of the alias table, and tickets in each.
BOX_BITS, TICKET_BITS = 10, 53
# Draws per stream: the draws of a block are the same in whichever thread they are made.
BLOCK = 1 << 14
# Columns of an undecided draw: place in the block, cell, offset in the cell, sign, and the first
# and further bits of the uniform number that decides.
PLACE, CELL, OFFSET, SIGN, FIRST_BITS, MORE_BITS = 0, 1, 2, 3, 4, 5
FIELDS = 6

_BUFFER = 4 * WORDS
# The same in words of 64 bits. No draw crosses the end of a buffer.
BUFFER_WORDS = _BUFFER // 2


class Cells(NamedTuple):
    """The table: cells of equal width from 0 up, then the tail, then the void tickets."""

    cut: Any  # int64, per box: tickets below it belong to the box's own cell
    alias: Any  # int64, per box: the cell that owns the other tickets
    sure: Any  # int64, per cell: uniform bits below it keep any place of the cell
    lead: Any  # float64, per cell: probability that the cell's left end is kept
    width_bits: int
    sigma: float
    margin: float  # bound on the rounding error of a probability


@njit(cache=True, nogil=True, error_model="numpy")
def add_noise_to_blocks(cells: Cells, key, values, blocks, taken, undecided):  # type: ignore[no-untyped-def]
    """Add a draw to each of the ``values`` of the blocks that it takes in turns, of ``blocks``.

    Stops after a block with draws that are still to be decided. Returns this block, or ``blocks``
    at the end, and the number of those draws, which are in ``undecided``. They are so rare that one
    call nearly always suffices, and threads do not wait for each other between blocks.
    """
    block = next_run(taken)
    while block < blocks:
        part = values[block * BLOCK : (block + 1) * BLOCK]
        found = add_noise(cells, key, block, part, undecided)
        if found > 0:
            return block, found
        block = next_run(taken)
    return blocks, 0


@njit(cache=True, nogil=True, error_model="numpy")
def add_noise(cells: Cells, key, block, values, undecided):  # type: ignore[no-untyped-def]
    """Add a draw to each of the ``values`` of one block.

    Writes the draws that are still to be decided to ``undecided`` and returns their number.
    """
    words32 = np.empty(_BUFFER, np.uint32)
    words = words32.view(np.uint64)
    nonce = np.empty(3, np.uint32)  # an array of a list would take as long as a hundred draws
    nonce[0], nonce[1], nonce[2] = 0, block & 0xFFFFFFFF, block >> 32
    start, memory = first_words(key, nonce), np.empty(WORDS, np.uint32)
    counter, at, left, made, found = np.int64(0), np.int64(0), 0, 0, 0
    bits = np.uint64(cells.width_bits)
    inside = (np.uint64(1) << bits) - np.uint64(1)
    cut, alias, sure, tail = cells.cut, cells.alias, cells.sure, cells.sure.size
    while at < values.size:
        if left < 3:
            left = made = words.size
            counter += _BUFFER // WORDS * BLOCKS
        # Words are used from the last to the first, and made when they are needed: few draws need
        # few of them.
        while left - 3 < made and made > 0:
            made -= WORDS // 2
            ahead = counter - (words.size - made) // (WORDS // 2) * BLOCKS
            fill(start, ahead, memory, words32[2 * made : 2 * made + WORDS])
        choice, place = words[np.uint64(left - 1)], words[np.uint64(left - 2)]
        left -= 2
        box = choice & np.uint64((1 << BOX_BITS) - 1)
        # Which of the two owners has the ticket is a coin toss: a select costs less than a branch.
        own = np.int64(choice >> np.uint64(64 - TICKET_BITS)) < cut[box]
        other = alias[box]
        cell = np.int64(box) if own else other
        sign = -np.int64((choice >> np.uint64(BOX_BITS)) & np.uint64(1))
        if cell > tail:
            continue
        offset, first = np.int64(place & inside), np.int64(place >> bits)
        size = ((cell << cells.width_bits) + offset) ^ sign
        if cell < tail and first < sure[np.uint64(cell)]:
            values[np.uint64(at)] += size
            at += 1
            continue
        more, verdict = np.int64(0), 0
        if cell < tail:
            more = np.int64(words[np.uint64(left - 1)])
            left -= 1
            verdict = _decide(cells, cell, offset, first, more)
        if verdict == 1:
            values[np.uint64(at)] += size
        elif verdict == 0:
            row = undecided[found]
            row[PLACE], row[CELL], row[OFFSET], row[SIGN] = at, cell, offset, sign
            row[FIRST_BITS], row[MORE_BITS] = first, more
            found += 1
        at += verdict >= 0
    return found


@njit(inline="always")
def _decide(cells, cell, offset, first, more):  # type: ignore[no-untyped-def]
    """Return 1 to keep the place, -1 to reject it, 0 if that is too close to call.

    The place is kept with the probability of a point somewhere between it and the next one.
    """
    edge = np.float64(cell << cells.width_bits)
    x = edge + np.float64(offset)
    square = 2.0 * cells.sigma * cells.sigma
    most = cells.lead[cell] * exponential(-np.float64(offset) * (x + edge) / square)
    least = most * (1.0 - (2.0 * x + 1.0) / square)
    unit = 2.0 ** (cells.width_bits - 64)
    drawn = (np.float64(first) + np.float64(np.uint64(more)) * 2.0**-64) * unit
    if drawn < least - cells.margin:
        return 1
    return -1 if drawn > most + cells.margin else 0
