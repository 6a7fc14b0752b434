"""Bounds for the few densest columns, where every step moves every score by many nats.

Frank-Wolfe oscillates on such columns: it adds one, then removes it again. The path of the margins
grows without bound while the iterate hardly moves, so bounds that follow the path are useless.
These follow the *net* change of the weights instead: with weights changed by d_j since a score of
column k was computed, and a row gradient whose slope lies in [low, high],

    score_k  =  score_k(then) + sum_j d_j (middle g_jk +- half o_jk)  +-  drift_k rest,

g the inner products of the columns, o those of their absolute values, middle and half the middle
and half-width of the slopes, and rest the path length due to everything outside the head, including
rounding. For squared loss half is 0. Each column keeps two such references, so that both ends of an
oscillation are stored, in addition to the one at w = 0.

Where steps are short, the slopes themselves hardly change. A column then also keeps its *bends*,
the sums of slopes over the rows that it shares with each released column, from the weights v at
which they were computed (``bends.py``). If a slope changes by at most c per unit of margin, then

    score_k  =  score_k(then) + sum_j d_j (bend_jk +- c reach o_jk)  +-  drift_k rest,

reach the mean of the 1-distances from v to the weights then and now: the margins of a row that
moves along a straight line have, on average, no other slope than at v by more than that times c.
What is outside the head adds ``c rest ||x_k||_2``, because an entry of column j is at most 1.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from dplasso.kernels.arithmetic import LN2, entry
from dplasso.kernels.bends import MARKED, SLOPE_GRAIN, Bends
from dplasso.kernels.envelope import margin_length
from dplasso.kernels.lottery import bits_for
from dplasso.kernels.problem import NORM2, PATH, REFRESHES, SCALE, Problem, Walk
from dplasso.kernels.steps import PAD, ROUNDING, UP
from dplasso.kernels.trials import tickets_for

REFERENCES = 2
HEAD_BLOCK = 64  # columns measured together, by falling drift
# Nats by which tickets of a block may exceed its bounds: bounds take longer than a void trial.
HEAD_SLACK = 0.7
# Most bits of tickets that the largest bound has at first, that one may have later, and that all
# columns may have together: a ticket is drawn by one word of 53 bits.
HEAD_BITS, MOST_BITS, ALL_BITS = 40, 46, 52
# With fewer bits of tickets per column, rounding up would claim too much weight.
COARSE_BITS = 10
# Bends are computed anew, together with a score, where weights have moved from theirs by more than
# BEND_AGE steps and the error after one more step is above BEND_NATS; and only if new ones make it
# less than BEND_GAIN of what it is without any.
BEND_AGE, BEND_NATS, BEND_GAIN = 1.0, 0.1, 0.5
# Relative error of bends from rounding slopes, and of weights as part of the radius.
BEND_SLACK, WEIGHTS_OFF = 2.0**-36, 2.0**-48

# Places in Head.whole and Head.real.
ACTIVE, HEAD_TICKETS = 0, 1
HEAD_UNIT, HORIZON, REST_LENGTH, REST_PATH, LAST_STEP = 0, 1, 2, 3, 4


class Head(NamedTuple):
    """One entry per head column. Matrices are columns x active columns, in order of first use."""

    vertices: Any
    limit: Any
    drift: Any
    pad: Any  # most that rounding can add to the difference of two scores
    slack: Any  # rounding error of the change by weights, relative to the sum of ``|d_j| o_jk``
    weights_pad: Any  # error due to rounding of the weights themselves, which are in the ball
    origin: Any
    middle: Any  # estimate of the score when last measured
    radius: Any  # bound on the error of that estimate
    measured: Any  # path length then
    nearest: Any  # the closest reference
    tickets: Any
    block_horizon: Any  # per block: path length up to which its tickets are counted
    row: Any  # place among the active columns, or -1
    weights: Any  # weights of the active columns, divided by the walk's scale
    inner: Any
    inner_abs: Any
    reference_score: Any  # references x columns
    reference_rest: Any
    reference_weights: Any  # references x columns x active columns
    scratch: Any  # one column as a dense vector over the rows
    bends: Bends
    whole: Any
    real: Any


@njit(inline="always")
def head_interval(head, slot, path):  # type: ignore[no-untyped-def]
    """Interval that holds the score of a head column now."""
    limit = head.limit[slot]
    reach = head.radius[slot] + head.drift[slot] * (path - head.measured[slot])
    low = max(head.middle[slot] - reach, -limit)
    return low, min(head.middle[slot] + reach, limit)


@njit(cache=True, nogil=True, error_model="numpy")
def _measure_slots(problem: Problem, walk: Walk, head: Head, first, last):  # type: ignore[no-untyped-def]
    """Bounds of the head columns ``first`` to ``last``, each from its best reference.

    Inner products of n entries are rounded by no more than n units in the last place of o_jk, and
    bends by half a grain per row: that is ``slack``. Weights and their differences are rounded,
    too: that is ``weights_pad``, which is added as soon as a round has passed, even if all
    differences are 0. With one at once, weights as large as 1e20 would leave no interval of use.

    Arrays are taken out of their tuples once: doing so for every column would take longer than the
    bounds.
    """
    scale, length, path = walk.scalars[SCALE], margin_length(walk), walk.scalars[PATH]
    middle_slope = 0.5 * (problem.curvature_high + problem.curvature_low)
    half = 0.5 * (problem.curvature_high - problem.curvature_low)
    rest_length, rest_path = head.real[REST_LENGTH], head.real[REST_PATH]
    origin, drifts, pads, slacks = head.origin, head.drift, head.pad, head.slack
    weights_pad, inner, inner_abs = head.weights_pad, head.inner, head.inner_abs
    then_score, then_rest = head.reference_score, head.reference_rest
    then_weights = head.reference_weights
    middles, radii, nearest, measured = head.middle, head.radius, head.nearest, head.measured
    sums, bend_weights = head.bends.sums, head.bends.weights
    bend_rest, bend_count = head.bends.rest, head.bends.count
    active = head.whole[ACTIVE]
    now = head.weights[:active] * scale
    for slot in range(first, last):
        drift, pad, slack = drifts[slot], pads[slot], slacks[slot]
        known = bend_count[slot] if bend_count.size else 0
        middle, radius, closest = origin[slot], drift * length + pad, -1
        change = spread = reach_now = 0.0
        for a in range(active):
            change += now[a] * inner[slot, a]
            spread += abs(now[a]) * inner_abs[slot, a]
        width = (half + slack) * spread + drift * rest_length + pad + weights_pad[slot]
        if width < radius:
            middle, radius = origin[slot] + middle_slope * change, width
        if known:
            for a in range(active):
                reach_now += abs(now[a] - bend_weights[slot, a])
        best = math.inf
        for reference in range(REFERENCES):
            change = spread = 0.0
            for a in range(active):
                moved = now[a] - then_weights[reference, slot, a]
                change += moved * inner[slot, a]
                spread += abs(moved) * inner_abs[slot, a]
            change *= middle_slope
            width = (half + slack) * spread
            if known:
                bent, bent_width = _by_bends(
                    problem,
                    now,
                    then_weights[reference, slot],
                    sums[slot],
                    bend_weights[slot],
                    inner[slot],
                    inner_abs[slot],
                    known,
                    reach_now,
                    abs(then_rest[reference, slot] - bend_rest[slot])
                    + (rest_path - bend_rest[slot]),
                    drift,
                    slack,
                )
                if bent_width < width:
                    change, width = bent, bent_width
            since = rest_path - then_rest[reference, slot]
            width += drift * since + pad + (weights_pad[slot] if since > 0.0 else 0.0)
            if width < best:
                best, closest = width, reference
                if width < radius:
                    middle, radius = then_score[reference, slot] + change, width
        middles[slot], radii[slot], nearest[slot], measured[slot] = middle, radius, closest, path


@njit(inline="always")
def _by_bends(  # type: ignore[no-untyped-def]
    problem, now, then, sums, bend_weights, inner, inner_abs, known, reach_now, rests, drift, slack
):
    """Middle and half-width of the change since a reference, from bends.

    Columns without a bend are bounded by their inner products: those that were released after the
    bends were computed, and those beyond the first ``MARKED``. The latter had weights then, too.
    """
    bent = close = fresh = spread = distance = 0.0
    reach = reach_now
    for a in range(known):
        moved = now[a] - then[a]
        bent += moved * sums[a]
        close += abs(moved) * inner_abs[a]
        distance += abs(moved)
        reach += abs(then[a] - bend_weights[a])
    for a in range(known, now.size):
        moved = now[a] - then[a]
        fresh += moved * inner[a]
        spread += abs(moved) * inner_abs[a]
        reach += abs(then[a] - bend_weights[a])
    turn = 0.5 * problem.curvature_turn * PAD
    reach += WEIGHTS_OFF * problem.radius
    norm2 = drift / problem.lipschitz
    half = 0.5 * (problem.curvature_high - problem.curvature_low)
    width = turn * (reach * close + rests * norm2 * distance) + half * spread
    middle = 0.5 * (problem.curvature_high + problem.curvature_low)
    return bent + middle * fresh, width + (slack + BEND_SLACK) * (close + spread)


@njit(cache=True, nogil=True, error_model="numpy")
def measure(problem: Problem, walk: Walk, head: Head):  # type: ignore[no-untyped-def]
    """Bounds and tickets of every block of head columns whose horizon the path has crossed."""
    path, horizons, size = walk.scalars[PATH], head.block_horizon, head.vertices.size
    fits = True
    for block in range(horizons.size):
        if path > horizons[block]:
            first = block * HEAD_BLOCK
            last = min(first + HEAD_BLOCK, size)
            _measure_slots(problem, walk, head, first, last)
            horizons[block] = path + HEAD_SLACK / (problem.theta * head.drift[first])
            fits = count_slots(problem, head, first, last) and fits
    head.real[HORIZON] = horizons.min()
    walk.counters[REFRESHES] += 1
    if not (fits and _unit_fits(head)):
        choose_head_unit(problem, head)


@njit(cache=True, nogil=True, error_model="numpy")
def count_slots(problem: Problem, head: Head, first, last):  # type: ignore[no-untyped-def]
    """Count the tickets of some head columns of one block up to its horizon.

    Returns False where a score may have outgrown the unit; `choose_head_unit` then mends that.
    """
    theta, unit, path = problem.theta, head.real[HEAD_UNIT], head.block_horizon[first // HEAD_BLOCK]
    limits, middles, radii = head.limit, head.middle, head.radius
    drifts, measured, tickets = head.drift, head.measured, head.tickets
    fits, change = True, np.int64(0)
    for slot in range(first, last):
        reach = radii[slot] + drifts[slot] * (path - measured[slot])
        bound = min(abs(middles[slot]) + reach, limits[slot])
        if theta * bound - unit > MOST_BITS * LN2:
            fits, bound = False, 0.0
        change -= tickets[slot]
        tickets[slot] = tickets_for(bound, theta, unit)
        change += tickets[slot]
    head.whole[HEAD_TICKETS] += change
    return fits


@njit(inline="always")
def _unit_fits(head):  # type: ignore[no-untyped-def]
    """Whether the tickets are neither too many for a word nor too coarse to be fast."""
    fewest = np.int64(head.vertices.size) << COARSE_BITS
    return fewest <= head.whole[HEAD_TICKETS] <= np.int64(1) << ALL_BITS


@njit(cache=True, nogil=True, error_model="numpy")
def choose_head_unit(problem: Problem, head: Head):  # type: ignore[no-untyped-def]
    """Choose the worth of the head's tickets by its largest bound, and count all of them.

    However many columns have that bound, all tickets together have no more than ALL_BITS: those of
    a column are at most twice as many as the bits say, for its two signs, and 3 more.
    """
    bits = min(HEAD_BITS, ALL_BITS - 2 - bits_for(head.vertices.size))
    largest = 0.0
    for slot in range(head.vertices.size):
        low, high = head_interval(head, slot, head.block_horizon[slot // HEAD_BLOCK])
        largest = max(largest, max(high, -low))
    head.real[HEAD_UNIT] = problem.theta * largest - bits * LN2
    for block in range(head.block_horizon.size):
        first = block * HEAD_BLOCK
        count_slots(problem, head, first, min(first + HEAD_BLOCK, head.vertices.size))


@njit(cache=True, nogil=True, error_model="numpy")
def refer(problem: Problem, walk: Walk, head: Head, slot, score):  # type: ignore[no-untyped-def]
    """Store a new score in place of the reference closest to it.

    The score lies within the bounds so far, so its tickets do not outgrow the unit.
    """
    reference = max(head.nearest[slot], 0)
    head.reference_score[reference, slot] = score
    head.reference_rest[reference, slot] = head.real[REST_PATH]
    for a in range(head.whole[ACTIVE]):
        head.reference_weights[reference, slot, a] = head.weights[a] * walk.scalars[SCALE]
    _measure_slots(problem, walk, head, slot, slot + 1)
    fits = count_slots(problem, head, slot, slot + 1)
    if not (fits and _unit_fits(head)):
        choose_head_unit(problem, head)


@njit(inline="always")
def bends_kept(head):  # type: ignore[no-untyped-def]
    """Number of released columns for which bends can be computed now."""
    return min(head.whole[ACTIVE], MARKED)


@njit(cache=True, nogil=True, error_model="numpy")
def bends_are_due(problem: Problem, walk: Walk, head: Head, slot):  # type: ignore[no-untyped-def]
    """Whether new bends of a column would tighten its bounds much, for some rounds."""
    step = head.real[LAST_STEP] * problem.radius
    half = 0.5 * (problem.curvature_high - problem.curvature_low)
    if head.bends.rows.size == 0 or problem.curvature_turn * step > BEND_GAIN * half:
        return False
    if head.bends.count[slot] == 0:
        return head.whole[ACTIVE] > 0
    moved = 0.0
    for a in range(head.whole[ACTIVE]):
        moved += abs(head.weights[a] * walk.scalars[SCALE] - head.bends.weights[slot, a])
    column = head.vertices[slot]
    entries = problem.indptr[column + 1] - problem.indptr[column]
    off = problem.theta * problem.curvature_turn * moved * step * entries
    return moved > BEND_AGE * step and off > BEND_NATS


@njit(cache=True, nogil=True, error_model="numpy")
def store_bends(walk: Walk, head: Head, slot, grains):  # type: ignore[no-untyped-def]
    """Keep the bends of a column at the current margins, in grains."""
    bends, active = head.bends, head.whole[ACTIVE]
    bends.count[slot], bends.rest[slot] = grains.size, head.real[REST_PATH]
    for a in range(grains.size):
        bends.sums[slot, a] = grains[a] * SLOPE_GRAIN
    for a in range(active):
        bends.weights[slot, a] = head.weights[a] * walk.scalars[SCALE]


@njit(inline="always")
def slip_of(scalars, eta, added):  # type: ignore[no-untyped-def]
    """Bound on the distance, from rounding in this step, between margins and their weights.

    A margin and a weight are each rounded once: by a unit in the last place of the margins, and of
    the column times a weight, which is at most as long as for the radius: ``added / eta``.
    """
    return ROUNDING * (math.sqrt(scalars[NORM2]) + 2.0 * added / eta) * PAD


@njit(inline="always")
def follow_outside(real, eta, added, slip):  # type: ignore[no-untyped-def]
    """Record a step outside the head that added the length ``added`` to the margins."""
    outside = added + slip
    real[LAST_STEP] = eta
    real[REST_PATH] = (real[REST_PATH] + (eta * real[REST_LENGTH] + outside) * PAD) * UP
    real[REST_LENGTH] = ((1.0 - eta) * real[REST_LENGTH] + outside) * UP


@njit(cache=True, nogil=True, error_model="numpy")
def follow(problem: Problem, walk: Walk, head: Head, slot, eta, change, added):  # type: ignore[no-untyped-def]
    """Record a step on head column ``slot`` that changed its weight by ``change``.

    Once the active columns fill their room, further columns count as outside the head.
    """
    if head.row[slot] < 0 and head.whole[ACTIVE] < head.weights.size:
        _activate(problem, head, slot)
    inside = head.row[slot] >= 0
    slip = slip_of(walk.scalars, eta, added)
    follow_outside(head.real, eta, 0.0 if inside else added, slip)
    if inside:
        head.weights[head.row[slot]] += change / walk.scalars[SCALE]


@njit(cache=True, nogil=True, error_model="numpy")
def _activate(problem: Problem, head: Head, slot):  # type: ignore[no-untyped-def]
    """Compute the inner products of a newly used head column with all others."""
    a = head.whole[ACTIVE]
    head.whole[ACTIVE] += 1
    head.row[slot] = a
    indptr, indices, values, scratch = (
        problem.indptr,
        problem.indices,
        problem.values,
        head.scratch,
    )
    column = head.vertices[slot]
    for p in range(np.uint64(indptr[column]), np.uint64(indptr[column + 1])):
        scratch[np.uint64(indices[p])] = entry(values, p)
    if head.bends.rows.size and a < MARKED:
        bit = np.uint64(1) << np.uint64(a)
        for p in range(np.uint64(indptr[column]), np.uint64(indptr[column + 1])):
            head.bends.rows[np.uint64(indices[p])] |= bit
    for other in range(head.vertices.size):
        inner = 0.0
        inner_abs = 0.0
        first, last = indptr[head.vertices[other]], indptr[head.vertices[other] + 1]
        for p in range(np.uint64(first), np.uint64(last)):
            product = scratch[np.uint64(indices[p])] * entry(values, p)
            inner += product
            inner_abs += abs(product)
        head.inner[other, a] = inner
        head.inner_abs[other, a] = inner_abs
    for p in range(indptr[column], indptr[column + 1]):
        scratch[np.uint64(indices[p])] = 0.0
