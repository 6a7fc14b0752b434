"""From released vertices to weights: pure post-processing."""

import numpy as np
from numba import njit

from dplasso.kernels.problem import Problem, Walk
from dplasso.kernels.steps import step_size


@njit(cache=True, nogil=True, error_model="numpy")
def weights_of(problem: Problem, walk: Walk, keys, sums):  # type: ignore[no-untyped-def]
    """Add up, vertex by vertex, what is left of every step at the end.

    ``keys`` (filled with -1) and ``sums`` are a hash table of a power-of-two size, at least twice
    the number of distinct vertices. The walk goes backwards: the product of the later shrinks can
    then underflow to 0 but nothing can overflow.
    """
    vertices, signs, steps = walk.vertices, walk.signs, walk.steps
    mask = keys.size - 1
    left = 1.0
    for t in range(vertices.size, 0, -1):
        eta = steps[t - 1] if steps.size else step_size(problem.step, t)
        vertex = vertices[t - 1]
        place = (vertex * np.int64(0x9E3779B97F4A7C1) >> 17) & mask
        while keys[place] != vertex and keys[place] >= 0:
            place = (place + 1) & mask
        keys[place] = vertex
        sums[place] -= signs[t - 1] * eta * problem.radius * left
        left *= 1.0 - eta
