"""Certified bounds on scores that were not computed, and the tickets they are worth.

Three kinds of vertices:

* *light*: ``theta`` times the largest score they can ever have, rounding included, is at most
  ``KAPPA``. Their weight hardly differs from 2 for ever. They share one envelope, need no upkeep
  and are not even listed.
* *heavy*: listed by how fast their score can drift and cut into blocks of ``BLOCK``. Each keeps the
  score it last had and the length of the path the margins had come by then: a score moves at most
  ``drift`` times the length of the path since. The score at w = 0, or a bound on it, stays good for
  ever, within ``drift`` times the present length of the margins.
* *head*: the few densest (see ``head.py``).

A block's tickets are counted for a path somewhat longer than the present one, its *horizon*, and
counted anew when the path crosses it. A block whose norms alone claim next to nothing is *idle*:
its tickets are counted by the norms, once.
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
LIGHT_NATS = 0.7240769841801067  # log(2 cosh(KAPPA)), the log of the most that one can weigh
BLOCK = 64
# Nats by which tickets of a block may exceed what its members' bounds need, to spare recounting.
SLACK = 0.2
# Whole tickets are spread over this many bits; a uniform double can tell 53 apart.
TICKET_BITS = 50
LARGEST = 36.0  # log of the most tickets one vertex may hold

# Places in Envelope.whole and Envelope.real.
LIGHT_SHIFT, LIGHT_TICKETS, HEAVY_TICKETS, WORD_SHIFT, RING_AT = 0, 1, 2, 3, 4
PENDING_TIER, PENDING_SLOT, PENDING_TICKET, LAST_TIER, LAST_SLOT = 5, 6, 7, 8, 9
LONG_COLUMN, OVERFLOW, WORK, MOST_WORK = 10, 11, 12, 13
LOG_UNIT, PER_UNIT, NEXT_HORIZON, LIGHT_RATE, PENDING_SCORE = 0, 1, 2, 3, 4


class Envelope(NamedTuple):
    """Light vertices, and what the tiers share."""

    heavy_bits: Any  # uint8 bitmap over columns: not light
    ring: Any  # int64, uniform words drawn ahead so that their columns can be fetched ahead
    whole: Any  # int64
    real: Any  # float64


class Heavy(NamedTuple):
    """One entry a heavy vertex, by falling ``drift``; the last ones one a block."""

    vertices: Any
    limit: Any  # bound on the score's size that always holds
    drift: Any
    pad: Any  # what rounding can add to the difference of two scores
    score: Any  # when last evaluated
    score_path: Any  # the path then; minus infinity if never
    origin: Any  # score at w = 0, give or take
    origin_spread: Any  # 0 where it was computed
    tickets: Any
    block_tickets: Any
    block_horizon: Any
    block_ahead: Any  # how far beyond the path a horizon lies; infinite for an idle block


@njit(inline="always")
def margin_length(walk):  # type: ignore[no-untyped-def]
    return math.sqrt(walk.scalars[NORM2]) * PAD


@njit(inline="always")
def heavy_interval(heavy, slot, path, length):  # type: ignore[no-untyped-def]
    """Interval that holds the score of a heavy vertex now, as it would be computed.

    Between two times, exact scores differ by ``drift`` times the path come since. Computed ones are
    whole numbers of grains, and differ by ``pad`` more at most.
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
    """Size that the score of a heavy vertex can have now; in an idle block, the largest ever."""
    if heavy.block_ahead[slot // BLOCK] == math.inf:
        return heavy.limit[slot]
    low, high = heavy_interval(heavy, slot, path, length)
    return max(high, -low)


@njit(cache=True, nogil=True, error_model="numpy")
def count_block(problem: Problem, walk: Walk, envelope: Envelope, heavy: Heavy, block):  # type: ignore[no-untyped-def]
    """Count one block's tickets anew, for a horizon ahead of the present path."""
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
            # A score may have grown past what the unit allows: `unit_fits` sees to it.
            envelope.whole[OVERFLOW] = 1
            bound = 0.0
        heavy.tickets[slot] = tickets_for(bound, theta, log_unit)
        total += heavy.tickets[slot]
    envelope.whole[HEAVY_TICKETS] += total - heavy.block_tickets[block]
    heavy.block_tickets[block] = total
    # Where every member stands at its limit no path can loosen the block any more.
    heavy.block_horizon[block] = math.inf if settled else path + ahead
    envelope.real[NEXT_HORIZON] = min(envelope.real[NEXT_HORIZON], heavy.block_horizon[block])
    walk.counters[REFRESHES] += 1


@njit(cache=True, nogil=True, error_model="numpy")
def recount(problem: Problem, walk: Walk, envelope: Envelope, heavy: Heavy, block):  # type: ignore[no-untyped-def]
    """Count a block anew because a trial of its was void or brought news of a score."""
    if heavy.block_ahead[block] < math.inf:
        count_block(problem, walk, envelope, heavy, block)
        if not unit_fits(envelope, heavy):
            choose_unit(problem, walk, envelope, heavy)
        aim_words(envelope)


@njit(cache=True, nogil=True, error_model="numpy")
def keep_up(problem: Problem, walk: Walk, envelope: Envelope, heavy: Heavy):  # type: ignore[no-untyped-def]
    """Count anew every block whose horizon the path has crossed."""
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
    """Whether the tickets are neither too many for a word nor too coarse for the law's speed."""
    total = envelope.whole[LIGHT_TICKETS] + envelope.whole[HEAVY_TICKETS]
    fewest = max(np.int64(1) << 24, np.int64(heavy.vertices.size) << 10)
    return fewest <= total <= (np.int64(1) << 52) and envelope.whole[OVERFLOW] == 0


@njit(cache=True, nogil=True, error_model="numpy")
def choose_unit(problem: Problem, walk: Walk, envelope: Envelope, heavy: Heavy):  # type: ignore[no-untyped-def]
    """Fix what a ticket is worth, so that all tickets together use the bits there are.

    A light vertex gets a power of two of them: its owner is then found by a shift.
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
    """Use just as many bits of a word as there are tickets."""
    total = envelope.whole[LIGHT_TICKETS] + envelope.whole[HEAVY_TICKETS]
    bits = 0
    while (np.int64(1) << bits) < total:
        bits += 1
    envelope.whole[WORD_SHIFT] = 53 - bits
