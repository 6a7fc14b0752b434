"""One trial of rejection sampling: tickets, decisions and the fraction below one ticket."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from numba import njit

from dplasso.kernels import trials
from dplasso.kernels.trials import (
    VOID,
    WORD,
    bernoulli,
    first_is_next,
    settle,
    settle_by_bounds,
    tickets_for,
)
from reference import chi_square, seeded


class Stub:
    """A generator whose numbers are known beforehand."""

    def __init__(self, *numbers):
        self.numbers = list(numbers)

    def random(self):
        return self.numbers.pop(0)


class Same:
    """A generator that draws one number again and again."""

    def __init__(self, number):
        self.number = number

    def random(self):
        return self.number


def decided(uniform, ticket, score, theta, log_unit):
    with pytest.MonkeyPatch.context() as patch:  # compiled coins take no generator of ours
        patch.setattr(trials, "bernoulli", trials.bernoulli.py_func)
        patch.setattr(trials, "rare", trials.rare.py_func)
        return settle.py_func(Same(uniform), ticket, score, theta, log_unit)


@pytest.fixture
def exact_law(monkeypatch):
    """The exact probabilities of what a function that tosses coins returns: all ways they fall."""
    script, ways = [], []

    def coin(rng, probability):
        chance = min(Fraction(probability), Fraction(1))
        falls = script[len(ways)] if len(ways) < len(script) else True
        ways.append((falls, chance if falls else 1 - chance))
        return falls

    monkeypatch.setattr(trials, "bernoulli", coin)
    monkeypatch.setattr(trials, "rare", trials.rare.py_func)

    def law(function, *arguments):
        found, pending = {}, [[]]
        while pending:
            script[:], ways[:] = pending.pop(), []
            outcome = function.py_func(None, *arguments)
            chance = math.prod((chance for _, chance in ways), start=Fraction(1))
            found[outcome] = found.get(outcome, 0) + chance
            taken = [falls for falls, _ in ways]
            pending += [[*taken[:k], False] for k in range(len(script), len(taken)) if taken[k]]
        assert sum(found.values()) == 1
        return found

    return law


def weights(score, theta, log_unit):
    return math.exp(theta * score - log_unit), math.exp(-theta * score - log_unit)


thetas = st.floats(-9, 3).map(math.exp)
# Nats of the heaviest weight above one ticket: from a tenth of a ticket to 2^46 of them.
heights = st.floats(-2.3, 32.0)
uniforms = st.integers(0, 2**53 - 1).map(lambda k: k / WORD)


@settings(max_examples=300, deadline=None)
@given(thetas, st.floats(0, 60), heights, st.lists(st.floats(-1, 1), max_size=5))
def test_tickets_cover_every_score_within_the_bound(theta, nats, height, parts):
    bound, log_unit = nats / theta, nats - height
    tickets = tickets_for(bound, theta, log_unit)
    for part in (-1.0, 0.0, 1.0, *parts):
        assert tickets >= math.fsum(weights(part * bound, theta, log_unit))
    # And few more than that: every void trial costs time.
    assert tickets <= sum(weights(bound, theta, log_unit)) * (1 + 1e-10) + 2


def test_tickets_of_weights_far_below_one():
    assert 1 <= tickets_for(1.0, 1.0, 1000.0) <= 2


def assert_law_of_all_tickets(law, score, theta, log_unit, past):
    """Over all tickets a vertex is released with its weights; those before ``past`` are plus."""
    tickets = tickets_for(abs(score), theta, log_unit)
    plus, minus = Fraction(past), Fraction(0)
    assert past == 0 or law(settle, past - 1, score, theta, log_unit) == {1: 1}
    for ticket in range(past, tickets):
        found = law(settle, ticket, score, theta, log_unit)
        plus, minus = plus + found.get(1, 0), minus + found.get(-1, 0)
    assert law(settle, tickets, score, theta, log_unit) == {0: 1}
    with mpmath.workdps(40):
        nats = mpmath.mpf(theta) * mpmath.mpf(score)
        for sign, found in ((1, plus), (-1, minus)):
            exact = mpmath.exp(sign * nats - mpmath.mpf(log_unit))
            share = mpmath.mpf(found.numerator) / found.denominator / exact
            # A weight is as exact as its exponent and our exponential are.
            assert abs(share - 1) < 2e-14 + 1e-15 * (abs(nats) + abs(log_unit))


@pytest.mark.parametrize("score", [0.0, 1.3, -1.3, 4.0, -0.2])
@pytest.mark.parametrize("height", [-40.0, -1.0, 0.7, 3.0])
def test_law_of_a_decision(exact_law, score, height):
    theta = 0.8
    log_unit = theta * abs(score) - height
    assert_law_of_all_tickets(exact_law, score, theta, log_unit, 0)


@pytest.mark.parametrize("nats", [18.0, 20.0, 40.0, 100.0, 700.0, 5000.0])
@pytest.mark.parametrize("height", [0.3, 3.0, 30.0])
def test_the_opposite_sign_keeps_its_probability_however_small(exact_law, nats, height):
    for sign in (1, -1):
        log_unit = nats - height
        whole = int(trials.weight.py_func(height)) if sign > 0 else 0
        if sign > 0 or height < 10.0:  # else minus has too many tickets to count
            assert_law_of_all_tickets(exact_law, sign * nats, 1.0, log_unit, whole)
        first = exact_law(settle, 0, -nats, 1.0, log_unit)
        with mpmath.workdps(40):
            exact = mpmath.exp(-mpmath.mpf(nats) - mpmath.mpf(log_unit))
            found = mpmath.mpf(first[1].numerator) / first[1].denominator
            assert abs(found / exact - 1) < 2e-14 + 2e-15 * nats


@pytest.mark.parametrize("lead", [-3000.0, -601.0, -20.0, 0.0, 0.5, 20.0, 599.0, 601.0, 3000.0])
@pytest.mark.parametrize(("first", "second"), [(1, 1), (3, 2**52), (2**52, 5)])
def test_neither_of_two_lots_is_ever_out_of_reach(exact_law, lead, first, second):
    found = exact_law(first_is_next, first, second, lead)
    with mpmath.workdps(40):
        odds = mpmath.exp(mpmath.mpf(lead)) * first / second
        for outcome, exact in ((True, odds / (1 + odds)), (False, 1 / (1 + odds))):
            share = mpmath.mpf(found[outcome].numerator) / found[outcome].denominator / exact
            assert abs(share - 1) < 1e-13


@settings(deadline=None)
@given(heights, st.floats(-20, 20), uniforms)
def test_tickets_are_handed_out_from_the_first_on(height, nats, uniform):
    """Plus, then minus, then void: a decision falls along the tickets and never comes back."""
    log_unit = abs(nats) - height
    up, down = weights(nats, 1.0, log_unit)
    edges = {0, int(up) - 1, int(up), int(up) + 1, int(up + down) - 1, int(up + down) + 1}
    order = [decided(uniform, t, nats, 1.0, log_unit) for t in sorted(edges) if t >= 0]
    ranks = [{1: 0, -1: 1, 0: 2}[sign] for sign in order]
    assert ranks == sorted(ranks)
    assert decided(0.0, 0, nats, 1.0, log_unit) == 1
    assert decided(uniform, int(up + down) + 1, nats, 1.0, log_unit) == 0


@njit
def draw_all(rng, tickets, score, theta, log_unit, count):
    found = np.zeros(3, np.int64)
    for _ in range(count):
        ticket = np.int64(rng.random() * tickets)
        found[settle(rng, ticket, score, theta, log_unit) + 1] += 1
    return found


@pytest.mark.parametrize(("score", "height"), [(0.5, 0.3), (-2.0, 2.0)])
def test_law_of_compiled_decisions(score, height):
    theta = 0.7
    log_unit = theta * abs(score) - height
    tickets = tickets_for(abs(score), theta, log_unit)
    up, down = weights(score, theta, log_unit)
    counts = draw_all(seeded(1), tickets, score, theta, log_unit, 400_000)
    exact = np.array([down, tickets - up - down, up]) / tickets
    assert chi_square(counts, exact) > 1e-5


@settings(max_examples=1000, deadline=None)
@given(
    theta=thetas,
    ends=st.tuples(st.floats(-30, 30), st.floats(-30, 30)).map(sorted),
    within=st.floats(0, 1),
    height=heights,
    place=st.floats(0, 1.2),
    edge=st.sampled_from([None, "up", "total"]),
    nudge=st.integers(-3, 3),
    uniform=uniforms | st.just(0.0) | st.just(1 - 1 / WORD),
)
def test_bounds_never_contradict_the_score(
    theta, ends, within, height, place, edge, nudge, uniform
):
    low, high = ends[0] / theta, ends[1] / theta
    score = min(max(low + within * (high - low), low), high)
    log_unit = max(abs(low), abs(high)) * theta - height
    up, down = weights(score, theta, log_unit)
    at = {None: place * (up + down), "up": up, "total": up + down}[edge]
    ticket = max(int(at) + nudge, 0)
    sign = settle_by_bounds.py_func(ticket, low, high, theta, log_unit)
    assert sign in (-1, 0, 1, VOID)
    if sign != 0:
        assert decided(uniform, ticket, score, theta, log_unit) == (0 if sign == VOID else sign)


@settings(max_examples=200, deadline=None)
@given(st.floats(-8, 8), st.floats(2, 30), uniforms, st.floats(0.0, 0.999))
@example(0.0, 5.0, 0.5, 0.25)
def test_tight_bounds_decide_all_tickets_but_those_at_the_edges(nats, height, uniform, place):
    """Bounds that never decided anything would contradict nothing."""
    log_unit = abs(nats) - height
    up, down = weights(nats, 1.0, log_unit)
    ticket = int(place * (up + down))
    room = 2 + 1e-10 * (up + down)
    assume(min(abs(ticket - up), abs(ticket - up - down)) > room)
    sign = settle_by_bounds(ticket, nats, nats, 1.0, log_unit)
    assert sign == decided(uniform, ticket, nats, 1.0, log_unit) != 0


@pytest.mark.parametrize("low", [-3.0, -0.5, 0.0, 0.5])
def test_wide_bounds_still_decide_what_they_can(low):
    """Tickets below the lowest weight of plus, those between plus and the least total, and those
    beyond the largest total."""
    high, log_unit = low + 0.4, -10.0
    nearest = min(max(0.0, low), high)
    first = math.exp(low - log_unit)
    last = math.exp(high - log_unit)
    total = math.exp(nearest - log_unit) + math.exp(-nearest - log_unit)
    assert settle_by_bounds(int(first) - 2, low, high, 1.0, log_unit) == 1
    assert settle_by_bounds(int(first) + 1, low, high, 1.0, log_unit) == 0
    if last < total - 3:
        assert settle_by_bounds(int(last) + 2, low, high, 1.0, log_unit) == -1
        assert settle_by_bounds(int(total) - 2, low, high, 1.0, log_unit) == -1
    assert settle_by_bounds(int(max(total, last)) + 1, low, high, 1.0, log_unit) == 0
    most = sum(weights(max(high, -low), 1.0, log_unit))
    assert settle_by_bounds(int(most) - 2, low, high, 1.0, log_unit) == 0
    assert settle_by_bounds(int(most) + 2, low, high, 1.0, log_unit) == VOID


@njit
def count_true(rng, probability, count):
    found = 0
    for _ in range(count):
        found += bernoulli(rng, probability)
    return found


@pytest.mark.parametrize("probability", [1e-3, 0.3, 0.5, 0.999])
def test_frequency_of_a_biased_coin(probability):
    count = 400_000
    found = count_true(seeded(2), probability, count)
    spread = math.sqrt(count * probability * (1 - probability))
    assert abs(found - count * probability) < 5 * spread


def test_coins_that_always_fall_the_same_way():
    assert count_true(seeded(3), 0.0, 100_000) == 0
    assert count_true(seeded(3), 1.0, 100_000) == 100_000


@settings(deadline=None)
@given(st.floats(0, 1, exclude_max=True), st.integers(0, 19), st.integers(-3, 3))
@example(0.3, 0, 0)
@example(1e-30, 1, 0)
@example(5e-324, 20, 0)
def test_a_coin_compares_digits_until_one_decides(probability, place, nudge):
    """So its chance is the probability itself: the sum of the digits, each with its own weight."""
    digits, left = [], Fraction(probability)
    while left > 0:
        digits.append(math.floor(left * 2**53))
        left = left * 2**53 - digits[-1]
    assert sum(Fraction(d, 2 ** (53 * (k + 1))) for k, d in enumerate(digits)) == probability
    place = min(place, len(digits) - 1)
    words = [*digits[: max(place, 0)]]
    if place >= 0:
        words.append(min(max(digits[place] + nudge, 0), 2**53 - 1))
    stub = Stub(*(word / WORD for word in words))
    if place < 0 or (words == digits):
        assert not bernoulli.py_func(stub, probability)
    elif words[-1] != digits[place]:
        assert bool(bernoulli.py_func(stub, probability)) == (words[-1] < digits[place])
        assert not stub.numbers
    else:
        with pytest.raises(IndexError):  # another digit is asked for
            bernoulli.py_func(stub, probability)


def test_tiny_probabilities_are_not_rounded_to_none():
    """2^-60: the first word must be 0, the second below 2^-7 of its range."""
    assert bernoulli.py_func(Stub(0.0, 2.0**-7 - 2.0**-53), 2.0**-60)
    assert not bernoulli.py_func(Stub(0.0, 2.0**-7), 2.0**-60)
    assert not bernoulli.py_func(Stub(2.0**-53), 2.0**-60)
