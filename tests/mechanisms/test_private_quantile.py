"""A released quantile follows its law, and one row moves that law no more than is charged."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso.data.row_weights import row_weights
from dplasso.mechanisms.private_quantile import losses_of, private_quantile, range_of_losses
from reference import chi_square, seeded

CANDIDATES = (0.5, 1.0, 2.0, 4.0)
NUMBERS = (0.3, 0.5, 0.8, 1.5, 3.0, 9.0)  # one on, between and beyond candidates
SHARES = [Fraction(1, 10), Fraction(1, 2), Fraction(4, 5)]


def law(numbers, share, theta):
    losses = [float(loss) for loss in losses_of(np.array(numbers), CANDIDATES, share)]
    weights = np.exp(-theta * (np.array(losses) - min(losses)))
    return weights / weights.sum()


def log_range(one, other):
    ratios = np.log(one) - np.log(other)
    return ratios.max() - ratios.min()


def test_losses_are_0_at_the_quantile():
    numbers = np.arange(1.0, 101.0)
    losses = losses_of(numbers, [0.5, 5.0, 9.0, 50.0, 200.0], Fraction(1, 10))
    assert losses == [6, 2, 0, 39, 90]


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("number", [0.1, 0.5, 0.7, 1.0, 3.0, 99.0])
def test_numbers_that_are_all_alike_have_one_quantile(share, number):
    losses = losses_of(np.full(50, number), CANDIDATES, share)
    wanted = max((c for c in CANDIDATES if c <= number), default=CANDIDATES[0])
    assert [loss == 0 for loss in losses] == [c == wanted for c in CANDIDATES]


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("neighboring", ["add_remove", "replace_one"])
@pytest.mark.parametrize("rows", [0, 1, 2, 3, 5])
def test_neighbours_stay_within_the_charged_range(share, neighboring, rows):
    epsilon = 0.8
    theta = epsilon / float(range_of_losses(share, neighboring))
    for numbers in itertools.combinations_with_replacement(NUMBERS, rows):
        for more in NUMBERS:
            if neighboring == "add_remove":
                pair = numbers, (*numbers, more)
            else:
                pair = (*numbers, NUMBERS[0]), (*numbers, more)
            found = log_range(*(law(rows, share, theta) for rows in pair))
            assert found <= epsilon * (1 + 1e-9)


@given(
    st.lists(st.floats(0.01, 10.0), max_size=30),
    st.floats(0.01, 10.0),
    st.one_of(st.none(), st.floats(0.01, 10.0)),
    st.fractions(Fraction(1, 100), Fraction(99, 100)),
)
def test_any_neighbours_stay_within_the_range(numbers, one, other, share):
    """A row replaced may have had a number, or none."""
    changed = numbers if other is None else [*numbers, other]
    relation = "add_remove" if other is None else "replace_one"
    before = losses_of(np.array([*numbers, one]), CANDIDATES, share)
    after = losses_of(np.array(changed), CANDIDATES, share)
    moves = [a - b for a, b in zip(after, before, strict=True)]
    assert max(moves) - min(moves) <= range_of_losses(share, relation)
    assert max(moves) - min(moves) <= range_of_losses(share, "replace_one")


@pytest.mark.parametrize("share", SHARES)
def test_the_range_is_nearly_attained(share):
    """Charging much less would not be enough."""
    widest = 0
    for rows in range(1, 25):
        for low in range(rows + 1):
            numbers = [0.3] * low + [1.5] * (rows - low)
            for more in NUMBERS:
                before = losses_of(np.array(numbers), CANDIDATES, share)
                after = losses_of(np.array([*numbers, more]), CANDIDATES, share)
                moves = [a - b for a, b in zip(after, before, strict=True)]
                widest = max(widest, max(moves) - min(moves))
    assert widest >= Fraction(9, 10) * range_of_losses(share, "add_remove")


@pytest.mark.parametrize("epsilon", [0.05, 0.7, 5.0])
def test_law(epsilon):
    share, generator = Fraction(1, 10), seeded(0)
    numbers = np.array([0.3, 0.8, 0.9, 1.5, 1.6, 1.7, 3.0, 3.1, 5.0, 6.0])
    drawn = [
        private_quantile(numbers, CANDIDATES, share, epsilon, "add_remove", generator)
        for _ in range(3000)
    ]
    expected = law(numbers, share, epsilon / float(range_of_losses(share, "add_remove")))
    assert chi_square(np.bincount(drawn, minlength=len(CANDIDATES)), expected) > 1e-4


def test_a_quantile_that_cannot_be_missed():
    numbers = np.concatenate([np.full(900, 0.7), np.full(9000, 2.5), np.full(100, 100.0)])
    place = private_quantile(numbers, CANDIDATES, Fraction(1, 10), 1.0, "add_remove", seeded(1))
    assert CANDIDATES[place] == 2.0


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan])
def test_epsilon_must_be_a_budget(epsilon):
    with pytest.raises(ValueError, match="^epsilon must be"):
        private_quantile(np.ones(3), CANDIDATES, SHARES[0], epsilon, "add_remove", seeded(0))


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.sampled_from(SHARES), st.booleans())
def test_a_person_moves_losses_within_the_range_of_the_rows_they_count_as(seed, share, replaces):
    """In fractions: up to 1,000 rows of one person, whose weights add up to at most k."""
    rng = np.random.default_rng(seed)
    k = int(rng.choice([1, 2, 7]))

    def person(number):
        size = int(rng.choice([1, 2, 3, 7, 97, 1000]))
        return rng.choice([0.01, 1.0, 3.0, 100.0], size), np.full(size, number)

    def losses(crowd):
        numbers = np.concatenate([found for found, _ in crowd])
        people = np.concatenate([owner for _, owner in crowd])
        return losses_of(numbers, CANDIDATES, share, row_weights(people, k))

    others = [person(1), person(2)]
    before = losses([*others, person(3)] if replaces else others)
    after = losses([*others, person(3)])
    moved = [b - a for a, b in zip(before, after, strict=True)]
    neighboring = "replace_one" if replaces else "add_remove"
    assert max(moved) - min(moved) <= k * range_of_losses(share, neighboring)
