"""The largest stored score, found by a heap of upper bounds (Algorithm 3 of the paper).

The heap orders vertices by an upper bound on the absolute value of their stored score; ties go to
the smaller vertex. A score that grows raises its bound; one that shrinks leaves it unchanged. If
the bound of the top vertex is outdated, it is lowered to the score and the vertex sinks. The first
top vertex whose bound is up to date has the largest score. The same vertices come up as in the
paper, which removes them, keeps the best and puts them back.

It is a binary heap with positions. A Fibonacci heap raises a bound in constant amortised time, but
nearly all raised bounds stay far from the top, where a binary heap moves them by a level or two
without following pointers.
"""

from typing import Any, NamedTuple

from numba import njit

from dplasso.kernels.problem import PROPOSALS, PUSHES, Problem, Walk
from dplasso.kernels.rivals.pushes import PATIENCE, Held, step_and_push


class Heap(NamedTuple):
    """Vertices in heap order."""

    bounds: Any  # int64 grains, one per vertex
    order: Any  # int64: the vertex at each place; the children of k are at 2k + 1 and 2k + 2
    places: Any  # int64: the place of each vertex


@njit(inline="always")
def _before(bounds, a, b):  # type: ignore[no-untyped-def]
    """Whether vertex a comes before vertex b."""
    return bounds[a] > bounds[b] or (bounds[a] == bounds[b] and a < b)


@njit(inline="always")
def _put(heap, place, vertex):  # type: ignore[no-untyped-def]
    heap.order[place] = vertex
    heap.places[vertex] = place


@njit(inline="always")
def _rise(heap, vertex):  # type: ignore[no-untyped-def]
    """Move a vertex up to where its bound belongs."""
    place = heap.places[vertex]
    while place > 0:
        parent = heap.order[(place - 1) // 2]
        if not _before(heap.bounds, vertex, parent):
            break
        _put(heap, place, parent)
        place = (place - 1) // 2
    _put(heap, place, vertex)


@njit(inline="always")
def _sink(heap, vertex):  # type: ignore[no-untyped-def]
    """Move a vertex down to where its bound belongs."""
    place, size = heap.places[vertex], heap.order.size
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and _before(heap.bounds, heap.order[child + 1], heap.order[child]):
            child += 1
        if not _before(heap.bounds, heap.order[child], vertex):
            break
        _put(heap, place, heap.order[child])
        place = child
    _put(heap, place, vertex)


@njit(cache=True, nogil=True, error_model="numpy")
def build(held: Held, heap: Heap):  # type: ignore[no-untyped-def]
    """Bring all vertices into heap order by their scores."""
    for vertex in range(heap.order.size):
        heap.bounds[vertex] = abs(held.scores[vertex])
        _put(heap, vertex, vertex)
    for place in range(heap.order.size // 2 - 1, -1, -1):
        _sink(heap, heap.order[place])


@njit(cache=True, nogil=True, error_model="numpy")
def largest(walk: Walk, held: Held, heap: Heap):  # type: ignore[no-untyped-def]
    """The vertex with the largest absolute score; ties go to the smallest vertex."""
    while True:
        walk.counters[PROPOSALS] += 1
        vertex = heap.order[0]
        size = abs(held.scores[vertex])
        if heap.bounds[vertex] == size:
            return vertex
        heap.bounds[vertex] = size
        _sink(heap, vertex)


@njit(cache=True, nogil=True, error_model="numpy")
def raise_touched(problem: Problem, held: Held, heap: Heap, touched):  # type: ignore[no-untyped-def]
    """Raise the bounds of touched vertices to their scores at the end of the round."""
    classes = problem.classes
    for k in range(touched):
        column = held.touched[k]
        held.flags[column] = 0
        for vertex in range(column * classes, (column + 1) * classes):
            size = abs(held.scores[vertex])
            if size > heap.bounds[vertex]:
                heap.bounds[vertex] = size
                _rise(heap, vertex)


@njit(cache=True, nogil=True, error_model="numpy")
def advance(problem: Problem, walk: Walk, held: Held, heap: Heap, done, until):  # type: ignore[no-untyped-def]
    """Run rounds from ``done + 1`` to at most ``until``; returns how many are done."""
    stop = walk.counters[PUSHES] + PATIENCE
    while done < until and walk.counters[PUSHES] < stop:
        vertex = largest(walk, held, heap)
        sign = -1 if held.scores[vertex] < 0 else 1
        touched = step_and_push(problem, walk, held, vertex, sign, done)
        raise_touched(problem, held, heap, touched)
        done += 1
    return done
