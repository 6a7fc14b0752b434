"""Correlated noise from decaying buffers: fresh draws, plus what earlier draws contribute.

A buffer holds whole multiples of 2^-FINE_BITS grid units. Per step it decays by a factor of
1 - 2^-shift: its value, shifted right and rounded down, is subtracted. All arithmetic is on
integers, so the noise is the same on every machine.
"""

import numpy as np
from numba import njit

from dplasso.kernels.grid_gaussian import BLOCK, add_noise

FINE_BITS = 20


@njit(cache=True, nogil=True)
def draw_blocks(cells, key, first_step, draws, start, end, undecided):  # type: ignore[no-untyped-def]
    """Add noise to ``draws``, one row per step; blocks of columns are numbered row by row.

    Stops at a block with undecided draws and returns that block and their number; returns ``end``
    and 0 if there is none.
    """
    blocks = -(-draws.shape[1] // BLOCK)
    for place in range(start, end):
        step, block = place // blocks, place % blocks
        part = draws[step, block * BLOCK : (block + 1) * BLOCK]
        stream = (first_step + step) * blocks + block
        found = add_noise(cells, key, stream, part, undecided)
        if found > 0:
            return place, found
    return end, 0


@njit(cache=True, nogil=True)
def echo(draws, buffers, shifts, shares):  # type: ignore[no-untyped-def]
    """Turn draws, one row per step, into noise: add the buffers, then feed them the draw."""
    for step in range(draws.shape[0]):
        row = draws[step]
        held = np.zeros(row.size, np.int64)
        for k in range(shifts.size):
            buffer, shift, share = buffers[k], shifts[k], shares[k]
            for j in range(row.size):
                before = buffer[j]
                held[j] += before
                buffer[j] = before - (before >> shift) + row[j] * share
        for j in range(row.size):
            row[j] += held[j] >> FINE_BITS


@njit(cache=True, nogil=True)
def responses(shifts, shares, steps):  # type: ignore[no-untyped-def]
    """The first coefficients of 1 / b, which inverts the buffers, and of 1 / ((1 - x) b)."""
    inverse, strategy = np.empty(steps), np.empty(steps)
    plain, summed = np.zeros(shifts.size), np.zeros(shifts.size)
    for t in range(steps):
        inverse[t] = (1.0 if t == 0 else 0.0) + plain.sum()
        strategy[t] = 1.0 + summed.sum()
        for k in range(shifts.size):
            kept, share = 1.0 - 2.0 ** -shifts[k], shares[k] * 2.0**-FINE_BITS
            plain[k] = kept * plain[k] - share * inverse[t]
            summed[k] = kept * summed[k] - share * strategy[t]
    return inverse, strategy
