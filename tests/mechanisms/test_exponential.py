"""The exponential mechanism on whole numbers: its law, to the last digit where it is close."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dplasso.mechanisms import exponential
from dplasso.mechanisms.exponential import draw_by_score
from reference import chi_square, seeded

LEAST, MOST = -(2**63), 2**63 - 1


def law(scores, theta):
    """Probabilities, from whole numbers that no double holds."""
    top = max(map(int, scores))
    weights = [
        mpmath.exp(-(top - int(s)) * mpmath.mpf(theta.numerator) / theta.denominator)
        for s in scores
    ]
    total = mpmath.fsum(weights)
    return np.array([float(weight / total) for weight in weights])


def counts(scores, theta, draws, seed=0):
    generator, scores = seeded(seed), np.array(scores, np.int64)
    found = [draw_by_score(scores, theta, generator) for _ in range(draws)]
    return np.bincount(found, minlength=len(scores))


@pytest.mark.parametrize(
    ("scores", "theta"),
    [
        ([3, -1, 0, 2, 2], Fraction(0)),
        ([3, -1, 0, 2, 2], Fraction(1, 7)),
        ([3, -1, 0, 2, 2], Fraction(9, 5)),
        ([10**15, 0, -(10**15), 10**15 - 10**14], Fraction(1, 10**15)),
        ([LEAST, MOST, 0, MOST - 2**61], Fraction(1, 2**63)),
        ([LEAST, LEAST + 1, LEAST + 2], Fraction(1, 2)),
        ([MOST, MOST - 1, MOST - 3], Fraction(1, 3)),
        ([5], Fraction(1)),
    ],
)
def test_law(scores, theta):
    assert chi_square(counts(scores, theta, 3000), law(scores, theta)) > 1e-4


def test_nothing_but_the_best_is_drawn_when_theta_is_very_large():
    found = counts([MOST, MOST - 1, LEAST, MOST], Fraction(10**6), 300)
    assert found[1] == found[2] == 0 and min(found[0], found[3]) > 100


def test_law_of_many_candidates():
    """Thousands that are each unlikely, beside a few that are not."""
    scores = np.concatenate([np.zeros(30_000, np.int64), [9, 10, 11]])
    found, chances = counts(scores, Fraction(1), 1000, seed=2), law(scores, Fraction(1))
    together = np.append(found[:30_000].reshape(6, -1).sum(axis=1), found[30_000:])
    expected = np.append(chances[:30_000].reshape(6, -1).sum(axis=1), chances[30_000:])
    assert chi_square(together, expected) > 1e-4


class Scripted:
    """Random bytes that make `uniform_below` return these numbers, below 10^20 each."""

    def __init__(self, *numbers):
        self._numbers = list(numbers)
        self.drawn = 0

    def bytes(self, size):
        assert size == 9
        self.drawn += 1
        return (self._numbers.pop(0) << 5).to_bytes(9, "little")  # 67 bits of 72 are read


@settings(max_examples=60, deadline=None)
@given(st.fractions(0, 40), st.integers(1, 2**40), st.integers(0, 3), st.sampled_from((-1, 1)))
def test_close_calls_are_decided_by_as_many_digits_as_it_takes(gamma, tickets, alike, side):
    """The uniform number shares so many times 20 digits with the chance, and then does not."""
    with mpmath.workdps(160):
        chance = mpmath.exp(-mpmath.mpf(gamma.numerator) / gamma.denominator) * tickets / 2**40
        digits = int(mpmath.floor(chance * mpmath.mpf(10) ** 100))
    blocks = [digits // 10 ** (20 * (4 - k)) % 10**20 for k in range(5)]
    last = blocks[alike] + 2 * side
    assume(chance < 1 and 0 <= last < 10**20)
    generator = Scripted(*blocks[:alike], last, *[0] * 5)
    kept = exponential._scaled_exponential(Fraction(tickets, 2**40), gamma, generator)
    assert kept == (side < 0) and generator.drawn == alike + 1


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(LEAST, MOST), min_size=1, max_size=30),
    st.fractions(0, 10**6, max_denominator=2**80),
    st.integers(0, 70),
)
def test_no_chance_is_above_1_and_all_are_in_proportion(scores, theta, halvings):
    """What makes the law exact whatever the rounding of tickets, which are at most 2^62 in all."""
    theta, asked = theta / 2**halvings, []

    def refuse(factor, gamma, generator):
        asked.append((factor, gamma))
        return len(asked) > 20

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(exponential, "_scaled_exponential", refuse)
        draw_by_score(np.array(scores, np.int64), theta, seeded(0))
    known = {theta * (max(scores) - s) for s in scores}
    for factor, gamma in asked:
        assert gamma in known
        assert (2**40 / factor).denominator == 1  # a whole number of tickets
        with mpmath.workdps(60):
            chance = mpmath.exp(-mpmath.mpf(gamma.numerator) / gamma.denominator)
            assert chance * factor.numerator / factor.denominator <= 1


@pytest.mark.parametrize(
    "scores",
    [np.zeros(0, np.int64), np.zeros(3), np.zeros((2, 2), np.int64), np.zeros(3, np.int32)],
)
def test_scores_that_are_no_whole_numbers_are_refused(scores):
    with pytest.raises(ValueError, match="scores must be a vector of int64"):
        draw_by_score(scores, Fraction(1), seeded(0))


def test_a_negative_theta_is_refused():
    with pytest.raises(ValueError, match="theta must be at least 0"):
        draw_by_score(np.zeros(3, np.int64), Fraction(-1), seeded(0))
