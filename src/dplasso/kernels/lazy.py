"""Lazy exact selection: vertices are proposed from certified bounds, and only those are scored.

Given the past, a trial releases vertex (j, s) with probability proportional to its true weight,
whatever valid bounds the trial was proposed from. So the first trial that is not void has exactly
the law of the exponential mechanism, provided that every trial is decided with the envelope it was
proposed from: bounds are tightened only after the decision.
"""

import numpy as np
from numba import njit

from dplasso.kernels.arithmetic import prefetch
from dplasso.kernels.bends import score_and_bends
from dplasso.kernels.envelope import (
    BLOCK,
    HEAVY_TICKETS,
    KAPPA,
    LAST_SLOT,
    LAST_TIER,
    LIGHT_RATE,
    LIGHT_SHIFT,
    LIGHT_TICKETS,
    LOG_UNIT,
    LONG_COLUMN,
    MOST_WORK,
    NEXT_HORIZON,
    PENDING_SCORE,
    PENDING_SLOT,
    PENDING_TICKET,
    PENDING_TIER,
    PER_UNIT,
    RING_AT,
    WORD_SHIFT,
    WORK,
    Envelope,
    Heavy,
    heavy_interval,
    keep_up,
    margin_length,
    recount,
)
from dplasso.kernels.head import (
    HEAD_TICKETS,
    HEAD_UNIT,
    HORIZON,
    Head,
    bends_are_due,
    bends_kept,
    follow,
    follow_outside,
    head_interval,
    measure,
    refer,
    slip_of,
    store_bends,
)
from dplasso.kernels.lottery import owner, uniform_below, word
from dplasso.kernels.problem import (
    ENTRIES,
    EVALUATIONS,
    PATH,
    PROPOSALS,
    SCALE,
    Problem,
    Walk,
)
from dplasso.kernels.scores import BUFFER, grain_size, score
from dplasso.kernels.steps import SMALLEST_SCALE, move, multiply_out, split, step_size
from dplasso.kernels.trials import VOID, first_is_next, settle, settle_by_bounds

LIGHT, HEAVY, HEAD = 0, 1, 2
# Codes that `advance` returns instead of a vertex.
FINISHED, TAKE_STOCK = -1, -2
RING = 64  # words drawn ahead
# How many words ahead a column's pointer, its entries and its rows' margins are prefetched.
FAR, NEAR, NEXT = 32, 16, 8
FETCHED, CACHE_LINE = 128, 16  # most entries prefetched, and entries per cache line
ROWS, CACHED = 8, 1 << 17  # most margins prefetched; up to this many margins stay cached anyway


@njit(inline="always")
def _light_column(classes, ring, whole, ahead):  # type: ignore[no-untyped-def]
    """The column that the word ``ahead`` places later will propose, or -1 if it is not light."""
    ticket = ring[(whole[RING_AT] + ahead) & (RING - 1)] >> whole[WORD_SHIFT]
    if ticket >= whole[LIGHT_TICKETS]:
        return np.int64(-1)
    column, _ = split(classes, ticket >> whole[LIGHT_SHIFT])
    return column


@njit(inline="always")
def _next_ticket(matrix, classes, heavy_bits, margins, ring, whole, rng):  # type: ignore[no-untyped-def]
    """Draw a uniform ticket of the light and heavy tiers; prefetch what the next words need."""
    indptr, indices, values = matrix
    total = whole[LIGHT_TICKETS] + whole[HEAVY_TICKETS]
    ticket = total
    while ticket >= total:
        at = whole[RING_AT]
        ticket = ring[at] >> whole[WORD_SHIFT]
        ring[at] = word(rng)
        whole[RING_AT] = (at + 1) & (RING - 1)
        column = _light_column(classes, ring, whole, FAR)
        if column >= 0:
            prefetch(indptr, column)
            prefetch(heavy_bits, column >> 3)
        column = _light_column(classes, ring, whole, NEAR)
        if column >= 0:
            # Most columns are short; the hardware streams the rest of a long one by itself.
            first, last = np.int64(indptr[column]), np.int64(indptr[column + 1])
            for p in range(first, min(last, first + FETCHED), CACHE_LINE):
                prefetch(indices, p)
                prefetch(values, p)
        # If the margins do not all fit into the cache, those of the rows are prefetched as well.
        column = np.int64(-1)
        if margins.size > CACHED:
            column = _light_column(classes, ring, whole, NEXT)
        if column >= 0:
            first, last = np.int64(indptr[column]), np.int64(indptr[column + 1])
            for p in range(first, min(last, first + ROWS)):
                prefetch(margins, np.int64(indices[p]) * classes)
    return ticket


@njit(inline="always")
def settle_light(one, rate, entries, ticket):  # type: ignore[no-untyped-def]
    """Decide a light vertex by its number of entries alone; 0 if that is not enough.

    1 - z <= e^-z and e^z <= 1 + z + z^2 for z <= 1: no exponential is needed here.
    """
    size = min(rate * entries, KAPPA)
    if ticket + 1 <= one * (1.0 - size):
        return 1
    if ticket >= one * (1.0 + size + size * size) and ticket + 1 <= 2.0 * one:
        return -1
    return 0


@njit(cache=True, nogil=True, error_model="numpy")
def _light_trial(problem: Problem, walk: Walk, log_unit, rng, vertex, ticket):  # type: ignore[no-untyped-def]
    """Decide a light vertex by its score."""
    found = score(problem, walk.margins, walk.scalars[SCALE], vertex, np.empty(BUFFER))
    _count_evaluation(problem, walk, vertex)
    return settle(rng, ticket, found, problem.theta, log_unit)


@njit(inline="always")
def _head_is_next(whole, real, head_whole, head_real, rng):  # type: ignore[no-untyped-def]
    """Draw whether the trial belongs to the head, according to the weight of all its tickets."""
    others = whole[LIGHT_TICKETS] + whole[HEAVY_TICKETS]
    lead = head_real[HEAD_UNIT] - real[LOG_UNIT]
    return first_is_next(rng, head_whole[HEAD_TICKETS], others, lead)


@njit(inline="always")
def _count_evaluation(problem, walk, vertex):  # type: ignore[no-untyped-def]
    column, _ = split(problem.classes, vertex)
    entries = np.int64(problem.indptr[column + 1] - problem.indptr[column])
    walk.counters[EVALUATIONS] += 1
    walk.counters[ENTRIES] += entries
    return entries


@njit(cache=True, nogil=True, error_model="numpy")
def _settle_scored(  # type: ignore[no-untyped-def]
    problem: Problem, walk: Walk, envelope: Envelope, heavy: Heavy, head: Head, rng, found
):
    """Decide the pending trial by its score, then tighten the envelope with that score."""
    whole, theta = envelope.whole, problem.theta
    tier, slot, ticket = whole[PENDING_TIER], whole[PENDING_SLOT], whole[PENDING_TICKET]
    whole[PENDING_TIER] = -1
    if tier == HEAD:
        sign = settle(rng, ticket, found, theta, head.real[HEAD_UNIT])
        refer(problem, walk, head, slot, found)
        return head.vertices[slot], sign
    sign = settle(rng, ticket, found, theta, envelope.real[LOG_UNIT])
    heavy.score[slot] = found
    heavy.score_path[slot] = walk.scalars[PATH]
    recount(problem, walk, envelope, heavy, slot // BLOCK)
    return heavy.vertices[slot], sign


@njit(cache=True, nogil=True, error_model="numpy")
def _listed_trial(  # type: ignore[no-untyped-def]
    problem: Problem, walk: Walk, envelope: Envelope, heavy: Heavy, head: Head, rng, ticket
):
    """One trial of the heavy tier, or of the head if ``ticket`` is negative.

    Returns vertex and sign. Sign 0 with a pending tier asks the caller to score a long column.
    """
    whole, path = envelope.whole, walk.scalars[PATH]
    if ticket < 0:
        tier = HEAD
        slot, ticket = owner(head.tickets, 0, uniform_below(rng, head.whole[HEAD_TICKETS]))
        vertex, log_unit = head.vertices[slot], head.real[HEAD_UNIT]
        low, high = head_interval(head, slot, path)
    else:
        tier = HEAVY
        block, ticket = owner(heavy.block_tickets, 0, ticket)
        slot, ticket = owner(heavy.tickets, block * BLOCK, ticket)
        vertex, log_unit = heavy.vertices[slot], envelope.real[LOG_UNIT]
        low, high = heavy_interval(heavy, slot, path, margin_length(walk))
    whole[LAST_TIER], whole[LAST_SLOT] = tier, slot
    sign = settle_by_bounds(ticket, low, high, problem.theta, log_unit)
    if sign == VOID:
        if tier == HEAVY:
            recount(problem, walk, envelope, heavy, slot // BLOCK)
        return vertex, 0
    if sign != 0:
        return vertex, sign
    whole[PENDING_TIER], whole[PENDING_SLOT], whole[PENDING_TICKET] = tier, slot, ticket
    entries = _count_evaluation(problem, walk, vertex)
    if tier == HEAVY:
        whole[WORK] += entries
    if entries > whole[LONG_COLUMN]:
        return vertex, 0
    if tier == HEAD and bends_are_due(problem, walk, head, slot):
        grains, bends = score_and_bends(
            problem,
            walk.margins,
            walk.scalars[SCALE],
            head.bends.rows,
            vertex,
            0,
            entries,
            bends_kept(head),
        )
        store_bends(walk, head, slot, bends)
        found = grains * grain_size(problem)
    else:
        found = score(problem, walk.margins, walk.scalars[SCALE], vertex, np.empty(BUFFER))
    return _settle_scored(problem, walk, envelope, heavy, head, rng, found)


@njit(cache=True, nogil=True, error_model="numpy")
def advance(  # type: ignore[no-untyped-def]
    problem: Problem, walk: Walk, envelope: Envelope, heavy: Heavy, head: Head, rng, done, until
):
    """Run rounds ``done + 1`` to ``until``; returns the rounds done and what is needed to continue.

    That is the score of a vertex, the scores of all heavy vertices (``TAKE_STOCK``), or nothing
    (``FINISHED``). Stock is taken between two trials, once single scores have cost as much as
    scoring all heavy vertices together would.

    The arrays that light rounds use are taken out of their tuples once, here: doing so in the loop
    would count references, which costs more than a round.
    """
    matrix = (problem.indptr, problem.indices, problem.values)
    indptr, classes, radius, step = problem.indptr, problem.classes, problem.radius, problem.step
    margins, scalars, counters = walk.margins, walk.scalars, walk.counters
    vertices, signs = walk.vertices, walk.signs
    heavy_bits, ring = envelope.heavy_bits, envelope.ring
    whole, real, head_whole, head_real = envelope.whole, envelope.real, head.whole, head.real
    with_head = head.vertices.size > 0
    while done < until:
        vertex, sign = np.int64(-1), 0
        if whole[PENDING_TIER] >= 0:
            found = real[PENDING_SCORE]
            vertex, sign = _settle_scored(problem, walk, envelope, heavy, head, rng, found)
        elif whole[WORK] > whole[MOST_WORK]:
            return done, np.int64(TAKE_STOCK)
        else:
            if scalars[PATH] > real[NEXT_HORIZON]:
                keep_up(problem, walk, envelope, heavy)
            if with_head and scalars[PATH] > head_real[HORIZON]:
                measure(problem, walk, head)
        while sign == 0:
            counters[PROPOSALS] += 1
            ticket = np.int64(-1)
            if not (with_head and _head_is_next(whole, real, head_whole, head_real, rng)):
                ticket = _next_ticket(matrix, classes, heavy_bits, margins, ring, whole, rng)
            if 0 <= ticket < whole[LIGHT_TICKETS]:
                vertex = ticket >> whole[LIGHT_SHIFT]
                column, _ = split(classes, vertex)
                if (heavy_bits[column >> 3] >> (column & 7)) & 1:
                    continue
                ticket -= vertex << whole[LIGHT_SHIFT]
                entries = indptr[column + 1] - indptr[column]
                whole[LAST_TIER] = LIGHT
                sign = settle_light(real[PER_UNIT], real[LIGHT_RATE], entries, ticket)
                if sign == 0:
                    sign = _light_trial(problem, walk, real[LOG_UNIT], rng, vertex, ticket)
            else:
                ticket -= whole[LIGHT_TICKETS] if ticket >= 0 else 0
                vertex, sign = _listed_trial(problem, walk, envelope, heavy, head, rng, ticket)
                if whole[PENDING_TIER] >= 0:
                    return done, vertex
                if sign == 0 and whole[WORK] > whole[MOST_WORK]:
                    return done, np.int64(TAKE_STOCK)
        eta = step_size(step, done + 1)
        added = move(matrix, classes, radius, margins, scalars, vertex, sign, eta)
        if whole[LAST_TIER] == HEAD:
            follow(problem, walk, head, whole[LAST_SLOT], eta, -sign * eta * radius, added)
        elif with_head:
            follow_outside(head_real, eta, added, slip_of(scalars, eta, added))
        if scalars[SCALE] < SMALLEST_SCALE:
            head.weights[:] *= multiply_out(walk)
        vertices[done] = vertex
        signs[done] = sign
        done += 1
    return done, np.int64(FINISHED)
