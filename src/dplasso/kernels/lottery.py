"""Draw one ticket from cells whose tickets are worth different powers of two.

A cell is a group of vertices. Its tickets (see ``trials.py``) are worth ``2^exponent`` each. Every
cell has its own exponent, so that no weight is too large or too small for an integer, and no cell
has to be recounted because another one grew. The draw is exact: cells are compared in common
tickets, of which each cell gets enough to cover its own. If the draw falls into the part of the
last common ticket that exceeds the cell's own tickets, the trial is void.
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
    """A uniform whole number below ``number``, itself at most 2^62."""
    bits = bits_for(number)
    drawn = number
    while drawn >= number:
        drawn = word(rng) >> max(53 - bits, 0)
        if bits > 53:
            drawn = (drawn << (bits - 53)) | (word(rng) >> (106 - bits))
    return drawn


@njit(inline="always")
def _common(tickets, shift):  # type: ignore[no-untyped-def]
    """Common tickets that cover a cell's own, where ``2^shift`` own make one common ticket."""
    return (tickets >> min(shift, 63)) + 1 if shift > 0 else tickets << min(-shift, 62)


@njit(inline="always")
def _common_unit(tickets, exponents):  # type: ignore[no-untyped-def]
    """Exponent of common tickets for which all cells together have at most about 2^52 of them."""
    largest = np.int64(-(1 << 62))
    for cell in range(tickets.size):
        largest = max(largest, exponents[cell] if tickets[cell] > 0 else largest)
    peak = np.int64(0)
    for cell in range(tickets.size):
        peak = max(peak, tickets[cell] >> min(max(largest - exponents[cell], 0), 63))
    return largest + bits_for(peak + 1) + bits_for(tickets.size) - 52


@njit(cache=True, nogil=True, error_model="numpy")
def draw_cell(rng, tickets, exponents):  # type: ignore[no-untyped-def]
    """A cell and one of its tickets, which is -1 if the trial is void.

    No cell may have more than 2^52 tickets, and at least one cell must have tickets.
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
    """The ticket of its cell that a common ticket stands for; -1 beyond those ``held``."""
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
    """The owner of a ticket, counting from place ``first``, and its place among the owner's."""
    while ticket >= tickets[first]:
        ticket -= tickets[first]
        first += 1
    return first, ticket
