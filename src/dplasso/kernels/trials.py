"""One trial of exact rejection sampling, decided by one uniform integer.

A candidate vertex pair (j, +) and (j, -) has true weight ``e^(theta a) + e^(-theta a)``, a its
score. An envelope gives it a whole number of *tickets*, each worth ``e^log_unit``, never fewer than
its true weight. A trial draws one ticket of all there are. Whole numbers add without rounding, so
every ticket is exactly as likely as any other; the ticket's place among its owner's tickets is the
trial's uniform number, and the fraction below one ticket is drawn only where it matters.

The first ``e^(theta a)`` tickets of a candidate release (j, +), the next ``e^(-theta a)`` release
(j, -), the rest are rejected and the trial is void.
"""

import math

import numpy as np
from numba import njit

from dplasso.kernels.arithmetic import exponential

WORD = 9007199254740992.0  # 2^53: what one uniform double holds
# Relative room left for rounding when bounds stand in for a score.
ROOM = 1e-11
VOID = 2


@njit(inline="always")
def tickets_for(bound, theta, log_unit):  # type: ignore[no-untyped-def]
    """Tickets that cover the weight of any score of size at most ``bound``."""
    up = theta * bound - log_unit
    down = -theta * bound - log_unit
    weight = exponential(max(up, -600.0)) + exponential(max(down, -600.0))
    return np.int64(weight * (1.0 + ROOM)) + 2


@njit(inline="always")
def settle(rng, ticket, score, theta, log_unit):  # type: ignore[no-untyped-def]
    """Decide a ticket by the exact score: +1 or -1, or 0 where the trial is void."""
    place = ticket + rng.random()
    up = math.exp(theta * score - log_unit)
    if place < up:
        return 1
    if place < up + math.exp(-theta * score - log_unit):
        return -1
    return 0


@njit(inline="always")
def settle_by_bounds(ticket, low, high, theta, log_unit):  # type: ignore[no-untyped-def]
    """The same decision where ``low <= score <= high`` forces it: +1, -1 or VOID; else 0."""
    if ticket + 1 <= math.exp(theta * low - log_unit) * (1.0 - ROOM):
        return 1
    nearest = max(low, 0.0) + min(high, 0.0)  # the smallest size the score can have, signed
    least = math.exp(theta * nearest - log_unit) + math.exp(-theta * nearest - log_unit)
    most = math.exp(theta * high - log_unit) * (1.0 + ROOM)
    if most <= ticket and ticket + 1 <= least * (1.0 - ROOM):
        return -1
    farthest = max(high, -low)
    both = math.exp(theta * farthest - log_unit) + math.exp(-theta * farthest - log_unit)
    return VOID if ticket >= both * (1.0 + ROOM) else 0


@njit(inline="always")
def bernoulli(rng, probability):  # type: ignore[no-untyped-def]
    """True with the given probability, to 106 bits."""
    gap = probability - rng.random()
    if gap >= 1.0 / WORD:
        return True
    if gap <= 0.0:
        return False
    return rng.random() < gap * WORD
