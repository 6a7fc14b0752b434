"""Standard selection: each round computes all row gradients and all scores, and draws once.

Scores, in grains, are computed block by block: first the products of all the block's entries with
their row gradients, then the sum of each column's products. Only the number of tickets per block is
kept; the block that is drawn is scored again to find the member.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from dplasso.kernels.arithmetic import LN2, entry
from dplasso.kernels.gradients import row_gradients
from dplasso.kernels.lottery import bits_for, draw_cell, exponent_for, owner
from dplasso.kernels.problem import ENTRIES, EVALUATIONS, PROPOSALS, Problem, Walk
from dplasso.kernels.scores import grain_size
from dplasso.kernels.steps import release, step_size
from dplasso.kernels.trials import ROOM, settle, tickets_for, weight

# Most columns and entries of a block; a column with more entries is a block by itself.
COLUMNS = 512
BLOCK_ENTRIES = 4096
# The heaviest vertex of a block has at most 2^42 tickets, all of them together at most 2^52.
TOP_BITS = 40
# Sums of at least this many terms are worth vectorising.
LONG_SUM = 32
# Adding 1.5 * 2^52 to a double of smaller size, and taking it off again, rounds to a whole number.
TO_WHOLE = 6755399441055744.0


class Blocks(NamedTuple):
    """Consecutive columns cut into blocks; columns without entries are in no block.

    Inside a block columns are listed by length: the loop over a column's entries then usually runs
    as often as for the previous column, which branch prediction gets right.
    """

    entries: Any  # int64, first entry of every block, and the end
    slots: Any  # int64, first slot of every block, and the end
    offsets: Any  # uint16, per slot: first entry of its column, counted from the block's first
    lengths: Any  # uint16, per slot: entries of its column; not used in a block of one column
    empty: Any  # int64, columns without entries: their score is always 0


class Cells(NamedTuple):
    """Tickets per block and class, followed by those of the empty columns."""

    tickets: Any
    exponents: Any


@njit(cache=True, nogil=True)
def cut(indptr, entries, slots):  # type: ignore[no-untyped-def]
    """Cut columns into blocks; returns the number of blocks and of slots.

    ``entries`` and ``slots`` are filled as far as they have room; pass empty arrays to count.
    """
    blocks, slot = 0, np.int64(0)
    start, count = np.int64(0), 0
    for column in range(indptr.size - 1):
        stop = np.int64(indptr[column + 1])
        if stop == indptr[column]:
            continue
        if count == COLUMNS or (count > 0 and stop - start > BLOCK_ENTRIES):
            count = 0
        if count == 0:
            start = np.int64(indptr[column])
            if blocks < entries.size:
                entries[blocks], slots[blocks] = start, slot
            blocks += 1
        count += 1
        slot += 1
    if blocks < entries.size:
        entries[blocks], slots[blocks] = indptr[-1], slot
    return blocks, slot


@njit(cache=True, nogil=True)
def list_by_length(indptr, blocks: Blocks):  # type: ignore[no-untyped-def]
    """Fill in the columns of every block, the short ones first."""
    place = np.empty(BLOCK_ENTRIES + 2, np.int64)
    column = 0
    for block in range(blocks.slots.size - 1):
        first, count = blocks.slots[block], blocks.slots[block + 1] - blocks.slots[block]
        start, stop = blocks.entries[block], blocks.entries[block + 1]
        if count == 1:
            blocks.offsets[first] = 0
            continue
        while indptr[column + 1] <= start:
            column += 1
        after, place[:] = column, 0
        while indptr[after] < stop:
            place[indptr[after + 1] - indptr[after] + 1] += 1
            after += 1
        place[1] = 0  # columns without entries
        for length in range(1, place.size):
            place[length] += place[length - 1]
        for k in range(column, after):
            length = indptr[k + 1] - indptr[k]
            if length > 0:
                slot = first + place[length]
                blocks.offsets[slot] = indptr[k] - start
                blocks.lengths[slot] = length
                place[length] += 1
        column = after


@njit(inline="always")
def _scratch():  # type: ignore[no-untyped-def]
    """Room for a block's terms, scores and tickets."""
    return np.empty(BLOCK_ENTRIES), np.empty(COLUMNS), np.empty(COLUMNS, np.int64)


@njit(inline="always")
def _multiply(indices, values, gradients, first, last, terms):  # type: ignore[no-untyped-def]
    """Entries ``first`` to ``last`` times the gradients of their rows, in whole grains.

    Terms are integers stored as doubles: a block has few enough for exact sums. Indices are
    unsigned because checking the sign of signed ones would take a quarter of the loop's time.
    """
    for k in range(last - first):
        p = np.uint64(first) + np.uint64(k)
        term = gradients[np.uint64(indices[p])] * entry(values, p)
        terms[k] = (term + TO_WHOLE) - TO_WHOLE


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc"})
def _long_sum(terms, first, length):  # type: ignore[no-untyped-def]
    """Sum of a long run of terms; whole numbers may be added in any order."""
    total = 0.0
    for k in range(length):
        total += terms[first + np.uint64(k)]
    return total


@njit(inline="always")
def _sum(terms, p, length):  # type: ignore[no-untyped-def]
    """Sum of a run of terms; four lanes, so that additions need not wait for each other."""
    if length >= LONG_SUM:
        return _long_sum(terms, p, length)
    end = p + np.uint64(length)
    a = b = c = d = 0.0
    while p + np.uint64(4) <= end:
        a += terms[p]
        b += terms[p + np.uint64(1)]
        c += terms[p + np.uint64(2)]
        d += terms[p + np.uint64(3)]
        p += np.uint64(4)
    while p < end:
        a += terms[p]
        p += np.uint64(1)
    return (a + b) + (c + d)


@njit(cache=True, nogil=True, error_model="numpy")
def block_scores(matrix, blocks: Blocks, gradients, block, terms, scores):  # type: ignore[no-untyped-def]
    """Scores of one block for one class, given that class's gradients; returns how many."""
    indices, values = matrix
    start, stop = blocks.entries[block], blocks.entries[block + 1]
    first, last = blocks.slots[block], blocks.slots[block + 1]
    if last - first > 1:
        _multiply(indices, values, gradients, start, stop, terms)
        offsets, lengths = blocks.offsets[first:last], blocks.lengths[first:last]
        for k in range(offsets.size):
            scores[k] = _sum(terms, np.uint64(offsets[k]), lengths[k])
        return last - first
    total = np.int64(0)
    for begin in range(start, stop, BLOCK_ENTRIES):
        end = min(begin + BLOCK_ENTRIES, stop)
        _multiply(indices, values, gradients, begin, end, terms)
        total += np.int64(_long_sum(terms, np.uint64(0), end - begin))
    scores[0] = total
    return last - first


@njit(inline="always")
def _mild_tickets(size, one):  # type: ignore[no-untyped-def]
    """`tickets_for` where ``size``, theta times the score, is at most 1; ``one`` = e^-log_unit.

    It uses the series of the hyperbolic cosine, with a last term enlarged to cover the rest.
    """
    square = size * size
    cosh = 1.0 + square * (0.5 + square * (1.0 / 24.0 + square * (1.02 / 720.0)))
    return np.int64(2.0 * one * cosh * (1.0 + ROOM)) + 2


@njit(cache=True, nogil=True, error_model="numpy")
def count_scores(scores, theta, tickets):  # type: ignore[no-untyped-def]
    """Compute the tickets of every score of a cell; returns their sum and their exponent."""
    top = np.int64(0)
    for k in range(scores.size):
        top = max(top, np.int64(abs(scores[k])))
    exponent = exponent_for(theta * top, TOP_BITS)
    log_unit = exponent * LN2
    total = np.int64(0)
    if theta * top <= 1.0:
        one = weight(-log_unit)
        for k in range(scores.size):
            tickets[k] = _mild_tickets(theta * scores[k], one)
            total += tickets[k]
    else:
        for k in range(scores.size):
            tickets[k] = tickets_for(abs(scores[k]), theta, log_unit)
            total += tickets[k]
    return total, exponent


@njit(cache=True, nogil=True, error_model="numpy")
def count_blocks(problem: Problem, blocks: Blocks, cells: Cells, gradients, first, last):  # type: ignore[no-untyped-def]
    """Count the tickets of the blocks ``first`` to ``last``."""
    terms, scores, tickets = _scratch()
    matrix = (problem.indices, problem.values)
    classes, rows = problem.classes, problem.labels.size
    theta = problem.theta * grain_size(problem)
    for label in range(classes):
        own = gradients[label * rows : (label + 1) * rows]
        for block in range(first, last):
            count = block_scores(matrix, blocks, own, block, terms, scores)
            total, exponent = count_scores(scores[:count], theta, tickets)
            cell = block * classes + label
            cells.tickets[cell], cells.exponents[cell] = total, exponent


@njit(cache=True, nogil=True, error_model="numpy")
def count_empty(problem: Problem, blocks: Blocks, cells: Cells):  # type: ignore[no-untyped-def]
    """Count the tickets of the empty columns, which never change."""
    vertices = blocks.empty.size * problem.classes
    exponent = exponent_for(0.0, min(TOP_BITS, 49 - bits_for(vertices)))
    each = tickets_for(0.0, problem.theta, exponent * LN2)
    cells.tickets[-1], cells.exponents[-1] = vertices * each, exponent


@njit(cache=True, nogil=True, error_model="numpy")
def _member(problem: Problem, blocks: Blocks, gradients, cell, place):  # type: ignore[no-untyped-def]
    """Vertex and score of the cell's member that owns a ticket, and the ticket's place there."""
    classes, rows, theta = problem.classes, problem.labels.size, problem.theta * grain_size(problem)
    block, label = cell // classes, cell % classes
    terms, scores, tickets = _scratch()
    own = gradients[label * rows : (label + 1) * rows]
    matrix = (problem.indices, problem.values)
    count = block_scores(matrix, blocks, own, block, terms, scores)
    count_scores(scores[:count], theta, tickets)
    k, place = owner(tickets, 0, place)
    first_entry = blocks.entries[block] + blocks.offsets[blocks.slots[block] + k]
    column = np.searchsorted(problem.indptr, first_entry, side="right") - 1
    return column * classes + label, scores[k], place


@njit(cache=True, nogil=True, error_model="numpy")
def settle_among(rng, scores, theta, exponent, place):  # type: ignore[no-untyped-def]
    """The member of a cell that owns a ticket, and its sign, which is 0 if the trial is void."""
    k = 0
    if scores.size > 1:
        tickets = np.empty(scores.size, np.int64)
        count_scores(scores, theta, tickets)
        k, place = owner(tickets, 0, place)
    return k, settle(rng, place, scores[k], theta, exponent * LN2)


@njit(cache=True, nogil=True, error_model="numpy")
def draw(problem: Problem, walk: Walk, blocks: Blocks, cells: Cells, gradients, rng):  # type: ignore[no-untyped-def]
    """A signed vertex with the law of the exponential mechanism."""
    classes, empty = problem.classes, blocks.empty
    while True:
        walk.counters[PROPOSALS] += 1
        cell, place = draw_cell(rng, cells.tickets, cells.exponents)
        if place < 0:
            continue
        exponent, score = cells.exponents[cell], 0.0
        if cell < cells.tickets.size - 1:
            vertex, score, place = _member(problem, blocks, gradients, cell, place)
        else:
            each = cells.tickets[cell] // (empty.size * classes)
            slot, place = place // each, place % each
            vertex = empty[slot // classes] * classes + slot % classes
        sign = settle(rng, place, score, problem.theta * grain_size(problem), exponent * LN2)
        if sign != 0:
            return vertex, sign


@njit(cache=True, nogil=True, error_model="numpy")
def finish_round(  # type: ignore[no-untyped-def]
    problem: Problem, walk: Walk, blocks: Blocks, cells: Cells, gradients, rng, done
):
    """Draw a vertex and move towards it; the cells must have been counted."""
    vertex, sign = draw(problem, walk, blocks, cells, gradients, rng)
    release(problem, walk, vertex, sign, step_size(problem.step, done + 1), done)
    walk.counters[EVALUATIONS] += (problem.indptr.size - 1) * problem.classes
    walk.counters[ENTRIES] += np.int64(problem.indptr[-1]) * problem.classes


@njit(cache=True, nogil=True, error_model="numpy")
def advance(  # type: ignore[no-untyped-def]
    problem: Problem, walk: Walk, blocks: Blocks, cells: Cells, gradients, rng, done, until
):
    """Run rounds ``done + 1`` to ``until`` in one thread."""
    for t in range(done, until):
        row_gradients(problem, walk, gradients, 0, problem.labels.size)
        count_blocks(problem, blocks, cells, gradients, 0, blocks.slots.size - 1)
        finish_round(problem, walk, blocks, cells, gradients, rng, t)
