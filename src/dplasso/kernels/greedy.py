"""Selection without noise: the vertex whose score is largest in absolute value.

Ties go to the smallest vertex; a score of 0 counts as positive. The lazy search and the brute force
both use `scores.score`, so they compare exactly the same numbers.

Like the private rule, the lazy search stores for every vertex its last computed score and the path
length of the margins at that time. Vertices are sorted by decreasing drift and cut into blocks. A
block stores the largest ``|score| - drift * path`` of its members, so that its bound at any later
time is one product and one sum. The search opens blocks in decreasing order of their bounds until
no remaining block can hold a vertex better than the best one found.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from dplasso.kernels.line_search import search_step
from dplasso.kernels.problem import (
    ENTRIES,
    EVALUATIONS,
    PATH,
    SCALE,
    SEARCHED,
    Problem,
    Walk,
)
from dplasso.kernels.scores import BUFFER, score
from dplasso.kernels.steps import release, split, step_size

GREEDY_BLOCK = 64


class Bounds(NamedTuple):
    """One entry per vertex, by decreasing drift; the last four arrays have one per block."""

    vertices: Any
    limit: Any  # bound on |score| that always holds
    drift: Any
    pad: Any  # most that rounding can add to the difference of two scores
    score: Any  # |score| when last evaluated
    score_path: Any  # path length then; minus infinity if never evaluated
    block_drift: Any
    block_base: Any  # largest score - drift * score_path
    block_limit: Any
    block_pad: Any  # the largest


@njit(inline="always")
def _better(size, vertex, best_size, best):  # type: ignore[no-untyped-def]
    return size > best_size or (size == best_size and vertex < best)


@njit(cache=True, nogil=True, error_model="numpy")
def best_of_all(problem: Problem, walk: Walk, first, last):  # type: ignore[no-untyped-def]
    """Best vertex from ``first`` to ``last`` and its score, by computing every score."""
    buffer = np.empty(BUFFER)
    margins, scale = walk.margins, walk.scalars[SCALE]
    best, best_score, best_size = np.int64(-1), 0.0, -1.0
    for vertex in range(first, last):
        found = score(problem, margins, scale, vertex, buffer)
        if _better(abs(found), vertex, best_size, best):
            best, best_score, best_size = np.int64(vertex), found, abs(found)
    return best, best_score


@njit(cache=True, nogil=True, error_model="numpy")
def best_lazily(problem: Problem, walk: Walk, bounds: Bounds, searched):  # type: ignore[no-untyped-def]
    """Best vertex and its score, by computing only scores that could be the largest."""
    best, best_score, best_size = np.int64(-1), 0.0, -1.0
    searched[:] = 0
    while True:
        block = _next_block(bounds, walk.scalars[PATH], best_size, searched)
        if block < 0:
            return best, best_score
        searched[block] = 1
        vertex, found = _best_in_block(problem, walk, bounds, block, best_size)
        if vertex >= 0 and _better(abs(found), vertex, best_size, best):
            best, best_score, best_size = vertex, found, abs(found)


@njit(cache=True, nogil=True, error_model="numpy")
def _next_block(bounds: Bounds, path, floor, searched):  # type: ignore[no-untyped-def]
    """The unsearched block with the largest bound, or -1 if none reaches ``floor``."""
    base, drift, limit = bounds.block_base, bounds.block_drift, bounds.block_limit
    pad = bounds.block_pad
    best, reach = np.int64(-1), floor
    for block in range(base.size):
        bound = min(base[block] + drift[block] * path + pad[block], limit[block])
        if bound >= reach and not searched[block]:
            best, reach = np.int64(block), bound
    return best


@njit(cache=True, nogil=True, error_model="numpy")
def _best_in_block(problem: Problem, walk: Walk, bounds: Bounds, block, floor):  # type: ignore[no-untyped-def]
    """Best vertex of a block, or -1 if none reaches ``floor``; stores the scores it computes."""
    buffer = np.empty(BUFFER)
    path = walk.scalars[PATH]
    best, best_score, best_size = np.int64(-1), 0.0, floor
    first = block * GREEDY_BLOCK
    for slot in range(first, min(first + GREEDY_BLOCK, bounds.vertices.size)):
        limit = bounds.limit[slot]
        bound = bounds.score[slot] + bounds.drift[slot] * (path - bounds.score_path[slot])
        if min(bound + bounds.pad[slot], limit) < best_size:
            continue
        vertex = bounds.vertices[slot]
        found = score(problem, walk.margins, walk.scalars[SCALE], vertex, buffer)
        bounds.score[slot], bounds.score_path[slot] = abs(found), path
        column, _ = split(problem.classes, vertex)
        walk.counters[EVALUATIONS] += 1
        walk.counters[ENTRIES] += problem.indptr[column + 1] - problem.indptr[column]
        if best < 0 and abs(found) >= floor or _better(abs(found), vertex, best_size, best):
            best, best_score, best_size = np.int64(vertex), found, abs(found)
    settle_block(bounds, block)
    return best, best_score


@njit(cache=True, nogil=True)
def settle_block(bounds: Bounds, block):  # type: ignore[no-untyped-def]
    """Update the bound of a block from its members' scores."""
    first = block * GREEDY_BLOCK
    base, limit, pad = -math.inf, 0.0, 0.0
    for slot in range(first, min(first + GREEDY_BLOCK, bounds.vertices.size)):
        path = bounds.score_path[slot]
        unknown = path == -math.inf
        base = max(base, math.inf if unknown else bounds.score[slot] - bounds.drift[slot] * path)
        limit, pad = max(limit, bounds.limit[slot]), max(pad, bounds.pad[slot])
    bounds.block_base[block] = base
    bounds.block_limit[block] = limit
    bounds.block_pad[block] = pad
    bounds.block_drift[block] = bounds.drift[first]


@njit(cache=True, nogil=True)
def settle_all(bounds: Bounds):  # type: ignore[no-untyped-def]
    """Update the bounds of all blocks."""
    for block in range(bounds.block_base.size):
        settle_block(bounds, block)


@njit(cache=True, nogil=True, error_model="numpy")
def take_step(problem: Problem, walk: Walk, vertex, found, done):  # type: ignore[no-untyped-def]
    """Move towards the vertex found, with the step size of the round, and record it."""
    sign = 1 if found >= 0.0 else -1
    if problem.step == SEARCHED:
        eta = search_step(problem, walk, vertex, sign)
        walk.steps[done] = eta
    else:
        eta = step_size(problem.step, done + 1)
    release(problem, walk, vertex, sign, eta, done)


@njit(cache=True, nogil=True, error_model="numpy")
def advance_lazily(problem: Problem, walk: Walk, bounds: Bounds, searched, done, until):  # type: ignore[no-untyped-def]
    """Rounds ``done + 1`` to ``until``."""
    while done < until:
        vertex, found = best_lazily(problem, walk, bounds, searched)
        take_step(problem, walk, vertex, found, done)
        done += 1
