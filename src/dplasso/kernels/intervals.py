"""The score intervals of a rule, as its trials would see them, for tests and audits."""

import numpy as np
from numba import njit

from dplasso.kernels.envelope import NEXT_HORIZON as NEXT_HEAVY
from dplasso.kernels.envelope import Envelope, Heavy, heavy_interval, keep_up, margin_length
from dplasso.kernels.head import HORIZON as NEXT_HEAD
from dplasso.kernels.head import Head, head_interval, measure
from dplasso.kernels.problem import PATH, Problem, Walk


@njit(cache=True, nogil=True, error_model="numpy")
def catch_up(problem: Problem, walk: Walk, envelope: Envelope, heavy: Heavy, head: Head):  # type: ignore[no-untyped-def]
    """Recompute the bounds whose horizon was crossed, as the next round would."""
    if walk.scalars[PATH] > envelope.real[NEXT_HEAVY]:
        keep_up(problem, walk, envelope, heavy)
    if head.vertices.size > 0 and walk.scalars[PATH] > head.real[NEXT_HEAD]:
        measure(problem, walk, head)


@njit(cache=True, nogil=True, error_model="numpy")
def intervals(walk: Walk, heavy: Heavy, head: Head):  # type: ignore[no-untyped-def]
    """Lower and upper ends: first those of the heavy vertices, then those of the head."""
    path, length, first = walk.scalars[PATH], margin_length(walk), heavy.vertices.size
    low, high = np.empty(first + head.vertices.size), np.empty(first + head.vertices.size)
    for slot in range(first):
        low[slot], high[slot] = heavy_interval(heavy, slot, path, length)
    for slot in range(head.vertices.size):
        low[first + slot], high[first + slot] = head_interval(head, slot, path)
    return low, high
