"""Drawing one ticket of many cells whose tickets are worth different powers of two.

A cell is a group of vertices. Its tickets (see ``trials.py``) are worth ``2^exponent`` each. The
exponent is the cell's own, so that no weight is ever too large or too small for a whole number, and
no cell has to be counted again because another one grew. The draw is exact: cells are compared in
common tickets, each cell is given as many as hold its own, and where the last of them holds more
than is the cell's the trial is void.
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


@njit(inline="always")
def _common(tickets, shift):  # type: ignore[no-untyped-def]
    """Common tickets that hold a cell's own, ``2^shift`` of which make a common one."""
    return (tickets >> min(shift, 63)) + 1 if shift > 0 else tickets << min(-shift, 62)


@njit(inline="always")
def _common_unit(tickets, exponents):  # type: ignore[no-untyped-def]
    """Exponent of common tickets, such that all cells together have about 2^52 of them at most."""
    largest = np.int64(-(1 << 62))
    for cell in range(tickets.size):
        largest = max(largest, exponents[cell] if tickets[cell] > 0 else largest)
    peak = np.int64(0)
    for cell in range(tickets.size):
        peak = max(peak, tickets[cell] >> min(max(largest - exponents[cell], 0), 63))
    return largest + bits_for(peak + 1) + bits_for(tickets.size) - 52


@njit(cache=True, nogil=True, error_model="numpy")
def draw_cell(rng, tickets, exponents):  # type: ignore[no-untyped-def]
    """A cell, and which of its tickets; that is -1 where the trial is void.

    No cell may have more than 2^52 tickets, and some cell must have any.
    """
    unit = _common_unit(tickets, exponents)
    total = np.int64(0)
    for cell in range(tickets.size):
        total += _common(tickets[cell], unit - exponents[cell])
    ticket = uniform_below(rng, total)
    cell = 0
    while True:
        held = _common(tickets[cell], unit - exponents[cell])
        if ticket < held:
            return cell, _refine(rng, ticket, unit - exponents[cell], tickets[cell])
        ticket -= held
        cell += 1


@njit(inline="always")
def _refine(rng, ticket, shift, held):  # type: ignore[no-untyped-def]
    """Which of its cell's tickets a common ticket stands for; -1 beyond those ``held``."""
    if shift <= 0:
        return ticket >> -shift
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
