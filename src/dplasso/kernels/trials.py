"""One trial of exact rejection sampling, decided by one uniform integer.

A candidate vertex pair (j, +) and (j, -) has true weight ``e^(theta a) + e^(-theta a)``, a its
score. An envelope gives it a whole number of *tickets*, each worth ``e^log_unit``, never fewer than
its true weight. A trial draws one of all tickets. Whole numbers add without rounding, so every
ticket is exactly equally likely; the ticket's place among its owner's tickets is the trial's
uniform number, and the fraction below one ticket is drawn only where it matters.

The first ``e^(theta a)`` tickets of a candidate release (j, +), the next ``e^(-theta a)`` release
(j, -), the rest are rejected and the trial is void.

Weights are computed by `arithmetic.exponential`: they are the same on every machine, have a
relative error of at most 1e-14, and are monotone in the exponent up to that error. Even very small
probabilities are drawn exactly: words of bits are drawn until one decides (`bernoulli`), and
factors of e^-600 until one fails (`rare`). So no candidate and no sign has probability 0.
"""

import numpy as np
from numba import njit

from dplasso.kernels.arithmetic import exponential

WORD = 9007199254740992.0  # 2^53: number of values of one uniform double
# Relative allowance for rounding when bounds replace a score.
ROOM = 1e-11
VOID = 2
# Weights of at most e^-FAINT tickets are drawn in several factors.
FAINT = 600.0


@njit(inline="always")
def weight(log_weight):  # type: ignore[no-untyped-def]
    """e^log_weight, but at least e^-FAINT; `rare` draws the remaining factor."""
    return exponential(min(max(log_weight, -FAINT), FAINT))


@njit(inline="always")
def tickets_for(bound, theta, log_unit):  # type: ignore[no-untyped-def]
    """Tickets that cover the weight of any score of absolute value at most ``bound``."""
    both = weight(theta * bound - log_unit) + weight(-theta * bound - log_unit)
    return np.int64(both * (1.0 + ROOM)) + 2


@njit(inline="always")
def bernoulli(rng, probability):  # type: ignore[no-untyped-def]
    """True with exactly the given probability: compares its binary digits with random ones.

    Every step is exact: a product with a power of two, and a fractional part.
    """
    while probability > 0.0:
        digits = probability * WORD
        whole = np.floor(digits)
        drawn = rng.random() * WORD
        if drawn != whole:
            return drawn < whole
        probability = digits - whole
    return False


@njit(inline="always")
def rare(rng, nats):  # type: ignore[no-untyped-def]
    """True with probability e^-nats, and always if ``nats <= 0``."""
    while nats > 0.0:
        if not bernoulli(rng, exponential(-min(nats, FAINT))):
            return False
        nats -= FAINT
    return True


@njit(inline="always")
def settle(rng, ticket, score, theta, log_unit):  # type: ignore[no-untyped-def]
    """Decide a ticket by the exact score: +1, -1, or 0 if the trial is void.

    The ticket in which the weight of plus ends is shared: plus gets its part, and minus the rest
    of the ticket, or its own weight if that is less.
    """
    log_plus, log_minus = theta * score - log_unit, -theta * score - log_unit
    plus, minus = weight(log_plus), weight(log_minus)
    whole = np.int64(plus)
    if ticket < whole:
        return 1
    part = plus - whole
    rest = 1.0 - part
    if ticket == whole:
        if bernoulli(rng, part) and rare(rng, -FAINT - log_plus):
            return 1
        # A faint plus rejected by its second factor leaves its share of the ticket to minus: the
        # probability of minus is then off by less than e^-FAINT.
        return -1 if bernoulli(rng, minus / rest) and rare(rng, -FAINT - log_minus) else 0
    beyond, left = ticket - whole - 1, minus - rest
    if left <= 0.0:
        return 0
    last = np.int64(left)
    if beyond < last:
        return -1
    return -1 if beyond == last and bernoulli(rng, left - last) else 0


@njit(inline="always")
def settle_by_bounds(ticket, low, high, theta, log_unit):  # type: ignore[no-untyped-def]
    """The same decision if ``low <= score <= high`` determines it: +1, -1 or VOID; otherwise 0."""
    if ticket + 1 <= weight(theta * low - log_unit) * (1.0 - ROOM):
        return 1
    nearest = max(low, 0.0) + min(high, 0.0)  # the score in [low, high] closest to 0
    least = weight(theta * nearest - log_unit) + weight(-theta * nearest - log_unit)
    most = weight(theta * high - log_unit) * (1.0 + ROOM)
    if most <= ticket and ticket + 1 <= least * (1.0 - ROOM):
        return -1
    farthest = max(high, -low)
    both = weight(theta * farthest - log_unit) + weight(-theta * farthest - log_unit)
    return VOID if ticket >= both * (1.0 + ROOM) else 0


@njit(inline="always")
def first_is_next(rng, first, second, lead):  # type: ignore[no-untyped-def]
    """Whether a trial belongs to the first of two lots of tickets, drawn by their total weights.

    One ticket of the first lot is worth e^lead tickets of the second.
    """
    odds = weight(lead) * (first / second)
    if odds > 1.0:
        second_next = bernoulli(rng, 1.0 / (1.0 + odds)) and rare(rng, lead - FAINT)
        return not second_next
    return bernoulli(rng, odds / (1.0 + odds)) and rare(rng, -FAINT - lead)
