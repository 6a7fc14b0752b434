"""Draw from stored scores by big steps over groups and little steps inside one (Algorithm 4).

The size of a group is about the square root of the number of vertices. Every vertex has an integer
number of tickets for its stored score, and every group their exact sum, which is updated whenever a
score changes. The paper steps through the stream of vertices with a chain of random thresholds; one
uniform ticket finds its owner by the same big and little steps, and with the same law.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from dplasso.kernels.arithmetic import LN2
from dplasso.kernels.lottery import draw_cell, exponent_for, owner
from dplasso.kernels.problem import PROPOSALS, PUSHES, REFRESHES, Problem, Walk
from dplasso.kernels.rivals.pushes import LANE, PATIENCE, Held, step_and_push
from dplasso.kernels.scores import grain_size
from dplasso.kernels.trials import settle, tickets_for

# A group is counted so that its heaviest vertex has at most 2^28 tickets. Four times that still fit
# in four bytes; if a vertex outgrows them, its group is counted again in a larger unit.
TOP_BITS, ROOM_BITS = 26, 29


class Groups(NamedTuple):
    """Groups of ``2^shift`` vertices."""

    tickets: Any  # int32, one per vertex
    sums: Any  # int64, one per group
    exponents: Any  # int64: a ticket of the group is worth 2^exponent
    ceilings: Any  # float64 grains: scores up to this size have few enough tickets
    shift: int


@njit(cache=True, nogil=True, error_model="numpy")
def count_group(scores, theta, groups: Groups, group):  # type: ignore[no-untyped-def]
    """Recount a group's tickets in the unit that fits its current scores; theta is per grain."""
    first = group << groups.shift
    last = min(first + (1 << groups.shift), scores.size)
    own, tickets = scores[first:last], groups.tickets[first:last]
    top = np.int64(0)
    for k in range(own.size):
        top = max(top, abs(own[k]))
    exponent = exponent_for(theta * top, TOP_BITS)
    total = np.int64(0)
    for k in range(own.size):
        held = tickets_for(abs(own[k]), theta, exponent * LN2)
        tickets[k] = held
        total += held
    groups.sums[group] = total
    groups.exponents[group] = exponent
    groups.ceilings[group] = (exponent + ROOM_BITS) * LN2 / theta


@njit(cache=True, nogil=True, error_model="numpy")
def count_groups(problem: Problem, held: Held, groups: Groups, first, last):  # type: ignore[no-untyped-def]
    """Count the groups ``first`` to ``last``."""
    for group in range(first, last):
        count_group(held.scores, problem.theta * grain_size(problem), groups, group)


@njit(inline="always")
def _patch(scores, theta, groups, vertices, sizes, counted):  # type: ignore[no-untyped-def]
    """Recount tickets of the listed vertices and update group sums; returns groups recounted."""
    tickets, sums, exponents, shift = groups.tickets, groups.sums, groups.exponents, groups.shift
    recounts = 0
    for k in range(vertices.size):
        vertex = np.uint64(vertices[k])
        sizes[k] = abs(scores[vertex])
        if sizes[k] > groups.ceilings[vertex >> np.uint64(shift)]:
            count_group(scores, theta, groups, vertices[k] >> shift)
            recounts += 1
    # Only now are the units for this list final.
    for k in range(vertices.size):
        counted[k] = exponents[np.uint64(vertices[k]) >> np.uint64(shift)]
    for k in range(vertices.size):
        counted[k] = tickets_for(sizes[k], theta, counted[k] * LN2)
    for k in range(vertices.size):
        vertex = np.uint64(vertices[k])
        sums[vertex >> np.uint64(shift)] += counted[k] - tickets[vertex]
        tickets[vertex] = counted[k]
    return recounts


@njit(cache=True, nogil=True, error_model="numpy")
def patch_touched(problem: Problem, walk: Walk, held: Held, groups: Groups, touched):  # type: ignore[no-untyped-def]
    """Update the tickets of all touched columns, each column once."""
    scores, classes, theta = held.scores, problem.classes, problem.theta * grain_size(problem)
    vertices, sizes, counted = np.empty(LANE, np.int64), np.empty(LANE), np.empty(LANE, np.int64)
    per_list = max(LANE // classes, 1)
    for first in range(0, touched, per_list):
        columns = held.touched[first : min(first + per_list, touched)]
        for k in range(columns.size):
            held.flags[np.uint64(columns[k])] = 0
        for label in range(classes):
            for k in range(columns.size):
                vertices[k] = columns[k] * classes + label
            walk.counters[REFRESHES] += _patch(
                scores, theta, groups, vertices[: columns.size], sizes, counted
            )


@njit(cache=True, nogil=True, error_model="numpy")
def draw(problem: Problem, walk: Walk, held: Held, groups: Groups, rng):  # type: ignore[no-untyped-def]
    """A signed vertex with the law of the exponential mechanism on the stored scores."""
    theta, shift = problem.theta * grain_size(problem), groups.shift
    while True:
        walk.counters[PROPOSALS] += 1
        group, ticket = draw_cell(rng, groups.sums, groups.exponents)
        if ticket >= 0:
            vertex, ticket = owner(groups.tickets, group << shift, ticket)
            log_unit = groups.exponents[group] * LN2
            sign = settle(rng, ticket, held.scores[vertex], theta, log_unit)
            if sign != 0:
                return vertex, sign
        # After the decision, because the tickets may be too coarse for scores that have shrunk.
        count_group(held.scores, theta, groups, group)
        walk.counters[REFRESHES] += 1


@njit(cache=True, nogil=True, error_model="numpy")
def advance(problem: Problem, walk: Walk, held: Held, groups: Groups, rng, done, until):  # type: ignore[no-untyped-def]
    """Run rounds from ``done + 1`` to at most ``until``; returns how many are done."""
    stop = walk.counters[PUSHES] + PATIENCE
    while done < until and walk.counters[PUSHES] < stop:
        vertex, sign = draw(problem, walk, held, groups, rng)
        touched = step_and_push(problem, walk, held, vertex, sign, done)
        patch_touched(problem, walk, held, groups, touched)
        done += 1
    return done
