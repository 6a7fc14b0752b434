"""Drawing one ticket of many cells whose tickets are worth different powers of two.

A cell is a group of vertices. Its tickets (see ``trials.py``) are worth ``2^exponent`` each, with an
exponent of the cell's own, so that no weight is ever too large or too small for a whole number and
no cell has to be counted again because another one grew. The draw is exact: cells are compared in a
common unit, every part of a common ticket is given to its cell, and what the cell does not own of
its last common ticket makes the trial void.
"""

import numpy as np
from numba import njit

from dplasso.kernels.arithmetic import LN2
from dplasso.kernels.trials import WORD


@njit(inline="always")
def exponent_for(size, bits):  # type: ignore[no-untyped-def]
    """Exponent with which a weight of ``e^size`` is worth about ``2^bits`` tickets."""
    return np.int64(np.floor(size / LN2)) - bits


@njit(inline="always")
def bits_for(number):  # type: ignore[no-untyped-def]
    """Smallest b with ``2^b >= number``."""
    bits = 0
    while (np.int64(1) << bits) < number:
        bits += 1
    return bits


@njit(inline="always")
def word(rng):  # type: ignore[no-untyped-def]
    """53 random bits."""
    return np.int64(rng.random() * WORD)


@njit(inline="always")
def uniform_below(rng, number):  # type: ignore[no-untyped-def]
    """A uniform whole number below ``number``, itself at most 2^53."""
    spare = 53 - bits_for(number)
    drawn = number
    while drawn >= number:
        drawn = word(rng) >> spare
    return drawn


@njit(cache=True, nogil=True, error_model="numpy")
def draw_cell(rng, tickets, exponents, most):  # type: ignore[no-untyped-def]
    """A cell, and which of its tickets; that is -1 where the trial is void.

    No cell may have more than ``2^most`` tickets, ``most`` itself at most 52. The cell of largest
    exponent should have most of its tickets or nearly: common units are cut to its measure.
    """
    largest = exponents[0]
    for cell in range(1, exponents.size):
        largest = max(largest, exponents[cell])
    unit = largest + max(bits_for(exponents.size) + most - 52, 0)
    total = np.int64(0)
    for cell in range(tickets.size):
        total += (tickets[cell] >> min(unit - exponents[cell], 63)) + 1
    ticket = uniform_below(rng, total)
    cell = 0
    while True:
        shift = unit - exponents[cell]
        held = (tickets[cell] >> min(shift, 63)) + 1
        if ticket < held:
            return cell, _refine(rng, ticket, shift, tickets[cell])
        ticket -= held
        cell += 1


@njit(inline="always")
def _refine(rng, ticket, shift, held):  # type: ignore[no-untyped-def]
    """Which of ``2^shift`` times finer tickets a uniform ticket is; -1 beyond the ``held`` first."""
    while shift > 0:
        bits = min(shift, 53)
        shift -= bits
        if ticket > held >> bits:
            return np.int64(-1)
        ticket = (ticket << bits) | (word(rng) >> (53 - bits))
    return ticket if ticket < held else np.int64(-1)


@njit(inline="always")
def owner(tickets, first, ticket):  # type: ignore[no-untyped-def]
    """Who holds a ticket, counting from place ``first``, and its place among the owner's."""
    while ticket >= tickets[first]:
        ticket -= tickets[first]
        first += 1
    return first, ticket
