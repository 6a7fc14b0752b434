"""Lazy selection in one block of columns: trials that change nothing, and bounds that follow steps.

A trial is decided as in ``lazy.py``. But its outcome leaves no trace: the envelope of a round is a
function of the columns and of the vertices released so far. So trials of a round may run at the
same time and in any place, and a process that lost its state gets the same one by repeating steps.
Bounds that have become loose are renewed when the path of the margins crosses a horizon.
"""

import math

import numpy as np
from numba import njit

from dplasso.kernels.arithmetic import entry
from dplasso.kernels.envelope import (
    BLOCK,
    HEAVY_TICKETS,
    LIGHT_RATE,
    LIGHT_SHIFT,
    LIGHT_TICKETS,
    LOG_UNIT,
    NEXT_HORIZON,
    PER_UNIT,
    Envelope,
    Heavy,
    choose_unit,
    count_block,
    heavy_interval,
    margin_length,
    unit_fits,
)
from dplasso.kernels.lazy import settle_light
from dplasso.kernels.lottery import owner
from dplasso.kernels.problem import PATH, SCALE, Problem, Walk
from dplasso.kernels.scores import BUFFER, score
from dplasso.kernels.steps import SMALLEST_SCALE, lengthen, move, multiply_out, row_place, split
from dplasso.kernels.trials import VOID, settle, settle_by_bounds, tickets_for

# Scores are renewed when more than one ticket in LOOSE is there only because bounds are loose; then
# in all groups with more such tickets than their even share of one in KEPT.
LOOSE, KEPT = 2, 4


@njit(cache=True, nogil=True, error_model="numpy")
def decide(problem: Problem, walk: Walk, envelope: Envelope, heavy: Heavy, rng, ticket):  # type: ignore[no-untyped-def]
    """The vertex that owns a ticket of the block, and its sign, which is 0 if the trial is void."""
    whole, real, theta = envelope.whole, envelope.real, problem.theta
    log_unit = real[LOG_UNIT]
    if ticket < whole[LIGHT_TICKETS]:
        vertex = ticket >> whole[LIGHT_SHIFT]
        column, _ = split(problem.classes, vertex)
        if (envelope.heavy_bits[column >> 3] >> (column & 7)) & 1:
            return vertex, 0
        ticket -= vertex << whole[LIGHT_SHIFT]
        entries = problem.indptr[column + 1] - problem.indptr[column]
        sign = settle_light(real[PER_UNIT], real[LIGHT_RATE], entries, ticket)
        if sign != 0:
            return vertex, sign
    else:
        group, ticket = owner(heavy.block_tickets, 0, ticket - whole[LIGHT_TICKETS])
        slot, ticket = owner(heavy.tickets, group * BLOCK, ticket)
        vertex = heavy.vertices[slot]
        low, high = heavy_interval(heavy, slot, walk.scalars[PATH], margin_length(walk))
        sign = settle_by_bounds(ticket, low, high, theta, log_unit)
        if sign != 0:
            return vertex, 0 if sign == VOID else sign
    found = score(problem, walk.margins, walk.scalars[SCALE], vertex, np.empty(BUFFER))
    return vertex, settle(rng, ticket, found, theta, log_unit)


@njit(cache=True, nogil=True, error_model="numpy")
def keep_up(problem: Problem, walk: Walk, envelope: Envelope, heavy: Heavy, sure):  # type: ignore[no-untyped-def]
    """Recount groups whose horizon the path has crossed; renew scores if bounds are loose.

    ``sure`` has the tickets of each group that its members are worth at least.
    """
    path, whole = walk.scalars[PATH], envelope.whole
    envelope.real[NEXT_HORIZON] = math.inf
    excess = np.int64(0)
    for group in range(sure.size):
        if path > heavy.block_horizon[group]:
            _count(problem, walk, envelope, heavy, sure, group)
        envelope.real[NEXT_HORIZON] = min(envelope.real[NEXT_HORIZON], heavy.block_horizon[group])
        excess += heavy.block_tickets[group] - sure[group]
    total = whole[LIGHT_TICKETS] + whole[HEAVY_TICKETS]
    if not unit_fits(envelope, heavy):
        for group in range(sure.size):
            _renew(problem, walk, heavy, group)
        count_all(problem, walk, envelope, heavy, sure)
    elif excess > total // LOOSE:
        least = total // (KEPT * sure.size)
        for group in range(sure.size):
            if heavy.block_tickets[group] - sure[group] > least:
                _renew(problem, walk, heavy, group)
                _count(problem, walk, envelope, heavy, sure, group)
        if not unit_fits(envelope, heavy):
            count_all(problem, walk, envelope, heavy, sure)


@njit(cache=True, nogil=True, error_model="numpy")
def count_all(problem: Problem, walk: Walk, envelope: Envelope, heavy: Heavy, sure):  # type: ignore[no-untyped-def]
    """Choose the worth of a ticket, and count the tickets of all groups."""
    choose_unit(problem, walk, envelope, heavy)
    for group in range(sure.size):
        _count_sure(problem, walk, envelope, heavy, sure, group)


@njit(inline="always")
def _count(problem, walk, envelope, heavy, sure, group):  # type: ignore[no-untyped-def]
    count_block(problem, walk, envelope, heavy, group)
    _count_sure(problem, walk, envelope, heavy, sure, group)


@njit(cache=True, nogil=True, error_model="numpy")
def _count_sure(problem: Problem, walk: Walk, envelope: Envelope, heavy: Heavy, sure, group):  # type: ignore[no-untyped-def]
    """Count the tickets that the members are worth wherever their scores lie in their intervals.

    All tickets of a group count that is bounded by its norms alone: its scores are not renewed.
    """
    if heavy.block_ahead[group] == math.inf:
        sure[group] = heavy.block_tickets[group]
        return
    path, length = walk.scalars[PATH], margin_length(walk)
    theta, log_unit = problem.theta, envelope.real[LOG_UNIT]
    total = np.int64(0)
    for slot in range(group * BLOCK, min(group * BLOCK + BLOCK, heavy.vertices.size)):
        low, high = heavy_interval(heavy, slot, path, length)
        nearest = max(low, 0.0) + min(high, 0.0)
        total += min(tickets_for(abs(nearest), theta, log_unit), heavy.tickets[slot])
    sure[group] = total


@njit(inline="always")
def _renew(problem, walk, heavy, group):  # type: ignore[no-untyped-def]
    """Compute the scores of a group, unless its tickets are counted by the norms alone."""
    if heavy.block_ahead[group] == math.inf:
        return
    buffer = np.empty(BUFFER)
    for slot in range(group * BLOCK, min(group * BLOCK + BLOCK, heavy.vertices.size)):
        vertex = heavy.vertices[slot]
        heavy.score[slot] = score(problem, walk.margins, walk.scalars[SCALE], vertex, buffer)
        heavy.score_path[slot] = walk.scalars[PATH]


@njit(cache=True, nogil=True, error_model="numpy")
def path_after(walk: Walk, classes, radius, indices, values, label, sign, eta):  # type: ignore[no-untyped-def]
    """The length of the path after a step towards a column, to the last bit, before it is made."""
    margins, after = walk.margins, walk.scalars.copy()
    dot = even = 0.0
    square = even_square = 0.0
    one, stop, p = np.uint64(1), np.uint64(indices.size), np.uint64(0)
    while p + one < stop:
        x, z = np.float64(entry(values, p)), np.float64(entry(values, p + one))
        dot += x * margins[row_place(indices[p], classes, label)]
        even += z * margins[row_place(indices[p + one], classes, label)]
        square += x * x
        even_square += z * z
        p += np.uint64(2)
    if p < stop:
        x = np.float64(entry(values, p))
        dot += x * margins[row_place(indices[p], classes, label)]
        square += x * x
    dot, square = (dot + even) * after[SCALE], square + even_square
    lengthen(after, eta, -sign * eta * radius, dot, square, np.int64(indices.size))
    return after[PATH]


@njit(cache=True, nogil=True, error_model="numpy")
def step_towards(walk: Walk, classes, radius, indices, values, label, sign, eta):  # type: ignore[no-untyped-def]
    """Move the margins towards a column, signed, that another process may hold."""
    starts = np.array([0, indices.size])
    matrix = (starts, indices, values)
    move(matrix, classes, radius, walk.margins, walk.scalars, np.int64(label), sign, eta)
    if walk.scalars[SCALE] < SMALLEST_SCALE:
        multiply_out(walk)


@njit(cache=True, nogil=True, error_model="numpy")
def stack(indptr, indices, values, first_row, cursor, out_indices, out_values):  # type: ignore[no-untyped-def]
    """Append the entries of some rows to every column; ``cursor`` is where each column goes on."""
    for column in range(cursor.size):
        at = cursor[column]
        for p in range(indptr[column], indptr[column + 1]):
            out_indices[at] = indices[p] + first_row
            if out_values is not None:
                out_values[at] = entry(values, p)
            at += 1
        cursor[column] = at
