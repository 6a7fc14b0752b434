"""One trial of rejection sampling: tickets, decisions and the fraction below one ticket."""

import math

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from numba import njit

from dplasso.kernels.trials import VOID, WORD, bernoulli, settle, settle_by_bounds, tickets_for
from reference import chi_square, seeded


class Stub:
    """A generator whose numbers are known beforehand."""

    def __init__(self, *numbers):
        self.numbers = list(numbers)

    def random(self):
        return self.numbers.pop(0)


def decided(uniform, ticket, score, theta, log_unit):
    return settle.py_func(Stub(uniform), ticket, score, theta, log_unit)


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


@pytest.mark.parametrize("score", [0.0, 1.3, -1.3, 4.0, -0.2])
@pytest.mark.parametrize("height", [-1.0, 0.7, 3.0])
def test_law_of_a_decision_by_enumeration(score, height):
    """All tickets times a grid of fractions: (j, +) and (j, -) get their weights exactly."""
    theta, grid = 0.8, 4000
    log_unit = theta * abs(score) - height
    tickets = tickets_for(abs(score), theta, log_unit)
    up, down = weights(score, theta, log_unit)
    counts = {1: 0, -1: 0, 0: 0}
    for ticket in range(tickets):
        for k in range(grid):
            counts[decided((k + 0.5) / grid, ticket, score, theta, log_unit)] += 1
    assert counts[1] / grid == pytest.approx(up, abs=1 / grid)
    assert counts[-1] / grid == pytest.approx(down, abs=2 / grid)
    assert counts[0] / grid == pytest.approx(tickets - up - down, abs=2 / grid)


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
@given(st.floats(0, 1, exclude_max=True), st.integers(-3, 3), uniforms)
@example(0.3, 0, 0.0)
@example(1e-30, 0, 0.0)
def test_a_coin_is_fair_to_the_second_word(probability, nudge, second):
    """Words below the probability's own say yes, those above no, its own asks for another."""
    own = math.floor(probability * WORD)
    word = own + nudge
    if not 0 <= word < 2**53:
        return
    stub = Stub(word / WORD, second)
    found = bernoulli.py_func(stub, probability)
    if word < own:
        assert found and len(stub.numbers) == 1
    elif word > own:
        assert not found and len(stub.numbers) == 1
    else:
        # What is left of the probability, as a part of one word; 0 needs no second word.
        rest = probability * WORD - own
        assert bool(found) == (second < rest)
        assert len(stub.numbers) == (0 if rest > 0 else 1)


def test_tiny_probabilities_are_not_rounded_to_none():
    """2^-60: the first word must be 0, the second below 2^-7 of its range."""
    assert bernoulli.py_func(Stub(0.0, 2.0**-7 - 2.0**-53), 2.0**-60)
    assert not bernoulli.py_func(Stub(0.0, 2.0**-7), 2.0**-60)
    assert not bernoulli.py_func(Stub(2.0**-53), 2.0**-60)
