"""From released vertices to weights: pure post-processing."""

import numpy as np
from numba import njit

from dplasso.kernels.problem import Problem, Walk
from dplasso.kernels.steps import step_size


@njit(cache=True, nogil=True, error_model="numpy")
def weights_of(problem: Problem, walk: Walk, bits):  # type: ignore[no-untyped-def]
    """Distinct vertices in no particular order, and the sums of their steps after all shrinks.

    A hash table of 2^bits places, at least twice the number of distinct vertices, finds a vertex
    again. The walk goes backwards: the product of the later shrinks can then underflow to 0 but
    nothing can overflow.
    """
    vertices, signs, steps = walk.vertices, walk.signs, walk.steps
    step, radius = problem.step, problem.radius
    table = np.full(1 << bits, -1, np.int64)
    mask = (np.int64(1) << bits) - 1
    found = np.empty(1 << (bits - 1), np.int64)
    sums = np.empty(1 << (bits - 1))
    count = 0
    left = 1.0
    for t in range(vertices.size, 0, -1):
        eta = steps[t - 1] if steps.size else step_size(step, t)
        vertex = vertices[t - 1]
        place = ((vertex * np.int64(0x9E3779B97F4A7C1)) >> 17) & mask
        while table[place] >= 0 and found[table[place]] != vertex:
            place = (place + 1) & mask
        if table[place] < 0:
            table[place] = count
            found[count] = vertex
            sums[count] = 0.0
            count += 1
        sums[table[place]] -= signs[t - 1] * eta * radius * left
        left *= 1.0 - eta
    return found[:count], sums[:count]
