"""Certified bounds on scores that were not computed, and the tickets they are worth.

Three kinds of vertices:

* *light*: ``theta`` times the largest score they can ever have, rounding included, is at most
  ``KAPPA``. Their weight always stays close to 2. They share one envelope, need no updates and are
  not even listed.
* *heavy*: sorted by how fast their score can drift and cut into blocks of ``BLOCK``. Each keeps its
  last computed score and the path length of the margins at that time: a score moves at most
  ``drift`` times the length of the path since. The score at w = 0, or a bound on it, stays valid,
  within ``drift`` times the current length of the margins.
* *head*: the few densest (see ``head.py``).

A block's tickets are counted for a path somewhat longer than the current one, its *horizon*, and
recounted when the path crosses it. A block whose norms alone claim almost nothing is *idle*: its
tickets are counted once, by the norms.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from dplasso.kernels.arithmetic import LN2, exponential, logarithm
from dplasso.kernels.problem import NORM2, PATH, REFRESHES, Problem, Walk
from dplasso.kernels.steps import PAD
from dplasso.kernels.trials import tickets_for, weight

KAPPA = 0.25
LIGHT_NATS = 0.7240769841801067  # log(2 cosh(KAPPA)), the log of a light vertex's largest weight
BLOCK = 64
# Nats by which tickets of a block may exceed its members' bounds, which makes recounts rarer.
SLACK = 0.2
# All tickets together use about this many bits; a uniform double has 53.
TICKET_BITS = 50
LARGEST = 36.0  # log of the most tickets one vertex may hold

# Places in Envelope.whole and Envelope.real.
LIGHT_SHIFT, LIGHT_TICKETS, HEAVY_TICKETS, WORD_SHIFT, RING_AT = 0, 1, 2, 3, 4
PENDING_TIER, PENDING_SLOT, PENDING_TICKET, LAST_TIER, LAST_SLOT = 5, 6, 7, 8, 9
LONG_COLUMN, OVERFLOW, WORK, MOST_WORK = 10, 11, 12, 13
LOG_UNIT, PER_UNIT, NEXT_HORIZON, LIGHT_RATE, PENDING_SCORE = 0, 1, 2, 3, 4


class Envelope(NamedTuple):
    """The light vertices, and the state that the tiers share."""

    heavy_bits: Any  # uint8 bitmap over columns that are not light
    ring: Any  # int64, uniform words drawn ahead so that their columns can be fetched ahead
    whole: Any  # int64
    real: Any  # float64


class Heavy(NamedTuple):
    """One entry per heavy vertex, by decreasing ``drift``; the last arrays have one per block."""

    vertices: Any
    limit: Any  # bound on |score| that always holds
    drift: Any
    pad: Any  # most that rounding can add to the difference of two scores
    score: Any  # score when last evaluated
    score_path: Any  # path length then; minus infinity if never evaluated
    origin: Any  # score at w = 0, up to origin_spread
    origin_spread: Any  # 0 if the origin was computed
    tickets: Any
    block_tickets: Any
    block_horizon: Any
    block_ahead: Any  # how far beyond the path a horizon lies; infinite for an idle block


@njit(inline="always")
def margin_length(walk):  # type: ignore[no-untyped-def]
    return math.sqrt(walk.scalars[NORM2]) * PAD


@njit(inline="always")
def heavy_interval(heavy, slot, path, length):  # type: ignore[no-untyped-def]
    """Interval that holds the computed score of a heavy vertex now.

    Between two times, exact scores differ by at most ``drift`` times the path between them.
    Computed ones are whole numbers of grains, and differ by at most ``pad`` more.
    """
    limit, pad = heavy.limit[slot], heavy.pad[slot]
    reach = heavy.drift[slot] * (path - heavy.score_path[slot]) + pad
    low = max(heavy.score[slot] - reach, -limit)
    high = min(heavy.score[slot] + reach, limit)
    reach = heavy.drift[slot] * length + heavy.origin_spread[slot] + pad
    low = max(low, heavy.origin[slot] - reach)
    high = min(high, heavy.origin[slot] + reach)
    return low, high


@njit(inline="always")
def _bound(heavy, slot, path, length):  # type: ignore[no-untyped-def]
    """Bound on |score| of a heavy vertex now; in an idle block, the bound that always holds."""
    if heavy.block_ahead[slot // BLOCK] == math.inf:
        return heavy.limit[slot]
    low, high = heavy_interval(heavy, slot, path, length)
    return max(high, -low)


@njit(cache=True, nogil=True, error_model="numpy")
def count_block(problem: Problem, walk: Walk, envelope: Envelope, heavy: Heavy, block):  # type: ignore[no-untyped-def]
    """Recount one block's tickets, for a horizon ahead of the current path."""
    first = block * BLOCK
    last = min(first + BLOCK, heavy.vertices.size)
    path, length = walk.scalars[PATH], margin_length(walk)
    theta, log_unit = problem.theta, envelope.real[LOG_UNIT]
    ahead = heavy.block_ahead[block]
    total = np.int64(0)
    settled = True
    for slot in range(first, last):
        bound, limit = _bound(heavy, slot, path, length), heavy.limit[slot]
        if bound < limit:
            bound = min(bound + heavy.drift[slot] * ahead, limit)
            settled = False
        if theta * bound - log_unit > LARGEST:
            # A score may have outgrown the unit: `unit_fits` then asks for another.
            envelope.whole[OVERFLOW] = 1
            bound = 0.0
        heavy.tickets[slot] = tickets_for(bound, theta, log_unit)
        total += heavy.tickets[slot]
    envelope.whole[HEAVY_TICKETS] += total - heavy.block_tickets[block]
    heavy.block_tickets[block] = total
    # If every member is at its limit, no path can loosen the block any more.
    heavy.block_horizon[block] = math.inf if settled else path + ahead
    envelope.real[NEXT_HORIZON] = min(envelope.real[NEXT_HORIZON], heavy.block_horizon[block])
    walk.counters[REFRESHES] += 1


@njit(cache=True, nogil=True, error_model="numpy")
def recount(problem: Problem, walk: Walk, envelope: Envelope, heavy: Heavy, block):  # type: ignore[no-untyped-def]
    """Recount a block because one of its trials was rejected or computed a score."""
    if heavy.block_ahead[block] < math.inf:
        count_block(problem, walk, envelope, heavy, block)
        if not unit_fits(envelope, heavy):
            choose_unit(problem, walk, envelope, heavy)
        aim_words(envelope)


@njit(cache=True, nogil=True, error_model="numpy")
def keep_up(problem: Problem, walk: Walk, envelope: Envelope, heavy: Heavy):  # type: ignore[no-untyped-def]
    """Recount every block whose horizon the path has crossed."""
    path = walk.scalars[PATH]
    envelope.real[NEXT_HORIZON] = math.inf
    for block in range(heavy.block_tickets.size):
        if path > heavy.block_horizon[block]:
            count_block(problem, walk, envelope, heavy, block)
        envelope.real[NEXT_HORIZON] = min(envelope.real[NEXT_HORIZON], heavy.block_horizon[block])
    if not unit_fits(envelope, heavy):
        choose_unit(problem, walk, envelope, heavy)
    aim_words(envelope)


@njit(inline="always")
def unit_fits(envelope, heavy):  # type: ignore[no-untyped-def]
    """Whether the tickets are neither too many for a word nor too coarse to be fast."""
    total = envelope.whole[LIGHT_TICKETS] + envelope.whole[HEAVY_TICKETS]
    fewest = max(np.int64(1) << 24, np.int64(heavy.vertices.size) << 10)
    return fewest <= total <= (np.int64(1) << 52) and envelope.whole[OVERFLOW] == 0


@njit(cache=True, nogil=True, error_model="numpy")
def choose_unit(problem: Problem, walk: Walk, envelope: Envelope, heavy: Heavy):  # type: ignore[no-untyped-def]
    """Choose the worth of a ticket so that all tickets together use the available bits.

    The tickets of a light vertex are a power of two, so that a shift finds the owner of a ticket.
    """
    slots = (problem.indptr.size - 1) * problem.classes
    path, length = walk.scalars[PATH], margin_length(walk)
    light = LIGHT_NATS + 1e-9
    all_light = light + logarithm(np.float64(slots))
    largest = all_light
    for slot in range(heavy.vertices.size):
        size = problem.theta * _bound(heavy, slot, path, length) + LN2 + SLACK
        largest = max(largest, size)
    total = exponential(max(all_light - largest, -700.0))
    for slot in range(heavy.vertices.size):
        size = problem.theta * _bound(heavy, slot, path, length) + LN2 + SLACK
        total += exponential(max(size - largest, -700.0))
    shift = math.floor((light - largest - logarithm(total)) / LN2 + TICKET_BITS)
    envelope.real[LOG_UNIT] = light - shift * LN2
    envelope.real[PER_UNIT] = weight(-envelope.real[LOG_UNIT])
    envelope.whole[LIGHT_SHIFT] = max(np.int64(shift), 0)
    envelope.whole[LIGHT_TICKETS] = np.int64(slots) << envelope.whole[LIGHT_SHIFT]
    envelope.real[NEXT_HORIZON] = math.inf
    envelope.whole[OVERFLOW] = 0
    for block in range(heavy.block_tickets.size):
        count_block(problem, walk, envelope, heavy, block)


@njit(cache=True, inline="always")
def aim_words(envelope):  # type: ignore[no-untyped-def]
    """Use only as many bits of a word as the number of tickets needs."""
    total = envelope.whole[LIGHT_TICKETS] + envelope.whole[HEAVY_TICKETS]
    bits = 0
    while (np.int64(1) << bits) < total:
        bits += 1
    envelope.whole[WORD_SHIFT] = 53 - bits
