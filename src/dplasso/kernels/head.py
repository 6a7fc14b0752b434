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
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from dplasso.kernels.arithmetic import LN2, entry
from dplasso.kernels.envelope import SLACK, margin_length
from dplasso.kernels.problem import NORM2, PATH, REFRESHES, SCALE, Problem, Walk
from dplasso.kernels.steps import PAD, ROUNDING, UP
from dplasso.kernels.trials import tickets_for

REFERENCES = 2
HEAD_BITS = 40
# With fewer bits of tickets per column, rounding up would claim too much weight.
COARSE_BITS = 10

# Places in Head.whole and Head.real.
ACTIVE, HEAD_TICKETS = 0, 1
HEAD_UNIT, HORIZON, REST_LENGTH, REST_PATH = 0, 1, 2, 3


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
    row: Any  # place among the active columns, or -1
    weights: Any  # weights of the active columns, divided by the walk's scale
    inner: Any
    inner_abs: Any
    reference_score: Any  # references x columns
    reference_rest: Any
    reference_weights: Any  # references x columns x active columns
    scratch: Any  # one column as a dense vector over the rows
    whole: Any
    real: Any


@njit(inline="always")
def head_interval(head, slot, path):  # type: ignore[no-untyped-def]
    """Interval that holds the score of a head column now."""
    limit = head.limit[slot]
    reach = head.radius[slot] + head.drift[slot] * (path - head.measured[slot])
    low = max(head.middle[slot] - reach, -limit)
    return low, min(head.middle[slot] + reach, limit)


@njit(inline="always")
def _net_change(problem, head, slot, scale, reference):  # type: ignore[no-untyped-def]
    """Middle and half-width of the change since a reference; -1 is the origin.

    Inner products of n entries are rounded by no more than n units in the last place of o_jk: that
    is ``slack``. Weights and their differences are rounded, too: that is ``weights_pad``, which the
    caller adds as soon as a round has passed, even if all differences are 0.
    """
    change = 0.0
    spread = 0.0
    for a in range(head.whole[ACTIVE]):
        moved = head.weights[a] * scale
        if reference >= 0:
            moved -= head.reference_weights[reference, slot, a]
        change += moved * head.inner[slot, a]
        spread += abs(moved) * head.inner_abs[slot, a]
    middle = 0.5 * (problem.curvature_high + problem.curvature_low)
    half = 0.5 * (problem.curvature_high - problem.curvature_low)
    return middle * change, half * spread + head.slack[slot] * spread


@njit(cache=True, nogil=True, error_model="numpy")
def _measure_one(problem: Problem, walk: Walk, head: Head, slot):  # type: ignore[no-untyped-def]
    """Bounds of one head column from its best reference."""
    scale, length = walk.scalars[SCALE], margin_length(walk)
    drift, pad = head.drift[slot], head.pad[slot]
    middle, radius, nearest = head.origin[slot], drift * length + pad, -1
    change, spread = _net_change(problem, head, slot, scale, -1)
    spread += drift * head.real[REST_LENGTH] + pad + head.weights_pad[slot]
    if spread < radius:
        middle, radius = head.origin[slot] + change, spread
    best = math.inf
    for reference in range(REFERENCES):
        change, spread = _net_change(problem, head, slot, scale, reference)
        since = head.real[REST_PATH] - head.reference_rest[reference, slot]
        # The path grows in every round: a score that was measured in this one needs no allowance
        # for weights. With one, weights as large as 1e20 would leave no interval that is of use.
        spread += drift * since + pad + (head.weights_pad[slot] if since > 0.0 else 0.0)
        if spread < best:
            best, nearest = spread, reference
            if spread < radius:
                middle, radius = head.reference_score[reference, slot] + change, spread
    head.middle[slot], head.radius[slot], head.nearest[slot] = middle, radius, nearest
    head.measured[slot] = walk.scalars[PATH]


@njit(cache=True, nogil=True, error_model="numpy")
def measure(problem: Problem, walk: Walk, head: Head):  # type: ignore[no-untyped-def]
    """Bounds of every head column, and their tickets."""
    steepest = 0.0
    for slot in range(head.vertices.size):
        _measure_one(problem, walk, head, slot)
        steepest = max(steepest, head.drift[slot])
    head.real[HORIZON] = walk.scalars[PATH] + SLACK / (problem.theta * steepest)
    count_head(problem, walk, head)


@njit(cache=True, nogil=True, error_model="numpy")
def count_head(problem: Problem, walk: Walk, head: Head):  # type: ignore[no-untyped-def]
    """Count the tickets of the head up to its horizon, in their own unit."""
    theta, path = problem.theta, head.real[HORIZON]
    largest = 0.0
    for slot in range(head.vertices.size):
        low, high = head_interval(head, slot, path)
        largest = max(largest, max(high, -low))
    head.real[HEAD_UNIT] = theta * largest - HEAD_BITS * LN2
    head.whole[HEAD_TICKETS] = 0
    for slot in range(head.vertices.size):
        low, high = head_interval(head, slot, path)
        head.tickets[slot] = tickets_for(max(high, -low), theta, head.real[HEAD_UNIT])
        head.whole[HEAD_TICKETS] += head.tickets[slot]
    walk.counters[REFRESHES] += 1


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
    _measure_one(problem, walk, head, slot)
    low, high = head_interval(head, slot, head.real[HORIZON])
    tickets = tickets_for(max(high, -low), problem.theta, head.real[HEAD_UNIT])
    head.whole[HEAD_TICKETS] += tickets - head.tickets[slot]
    head.tickets[slot] = tickets
    if head.whole[HEAD_TICKETS] < np.int64(head.vertices.size) << COARSE_BITS:
        count_head(problem, walk, head)


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
