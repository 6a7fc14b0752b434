"""The released count follows its law, and its law costs no more than was asked."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dplasso.mechanisms import counting
from dplasso.mechanisms.counting import noisy_count
from reference import chi_square, seeded

CASES = [(3, 6, 0.7), (0, 1, 2.0), (10, 20, 0.05), (5, 9, 1e-3), (2, 40, 6.0), (7, 8, 1e-9)]


def overwritten(count, low, high, epsilon, generator):
    """Line 58 of the paper's listing: the count is clipped anew, and the noise is lost."""
    noised = clipped(count, low, high) + drawn(epsilon, high - low, generator)
    noised = clipped(count, low, high)
    return noised


def with_fractional_bounds(count, low, high, epsilon, generator):
    """sqrt(size) as it is: whether the count was clipped shows in its fraction."""
    return clipped(count, low, high) + drawn(epsilon, high - low, generator)


def with_rounded_bounds(count, low, high, epsilon, generator):
    """Rounded after the clip, noise for the bounds before: they may be further apart now."""
    noised = round(clipped(count, low, high)) + drawn(epsilon, high - low, generator)
    return clipped(noised, round(low), round(high))


def clipped(count, low, high):
    return min(max(count, low), high)


def drawn(epsilon, span, generator):
    return counting.double_geometric(Fraction(epsilon) / Fraction(span), generator)


def law(release, monkeypatch, count, low, high, epsilon):
    """Exact law of a release: its answer to every noise, by the noise's probability."""
    chances, span = {}, math.ceil(high - low) + 1
    for noise in range(-span, span + 1):
        gammas = []

        def planted(gamma, generator, noise=noise, gammas=gammas):
            gammas.append(float(gamma))
            return noise

        with monkeypatch.context() as patch:
            patch.setattr(counting, "double_geometric", planted)
            outcome = release(count, low, high, epsilon, None)
        q = math.exp(-gammas[0])
        # Noise beyond the span ends where noise of the span does.
        mass = 1.0 if abs(noise) == span else 1.0 - q
        chance = math.exp(-gammas[0] * abs(noise)) * mass / (1.0 + q)
        chances[outcome] = chances.get(outcome, 0.0) + chance
    assert sum(chances.values()) == pytest.approx(1.0, rel=1e-12)
    return chances


def cost(release, monkeypatch, low, high, epsilon):
    """Largest log-ratio between the laws of any two counts."""
    counts = range(max(0, math.floor(low) - 3), math.ceil(high) + 4)
    laws = [law(release, monkeypatch, count, low, high, epsilon) for count in counts]
    return max(
        math.log(chance / other[outcome]) if outcome in other else math.inf
        for one, other in itertools.permutations(laws, 2)
        for outcome, chance in one.items()
    )


@pytest.mark.parametrize(("low", "high", "epsilon"), CASES)
def test_cost_of_any_two_counts_is_epsilon(monkeypatch, low, high, epsilon):
    assert cost(noisy_count, monkeypatch, low, high, epsilon) == pytest.approx(epsilon, rel=1e-6)


@pytest.mark.parametrize(("low", "high", "epsilon"), [*CASES, (0, 3, 5e-324), (1, 10**9, 1e300)])
def test_no_rounding_exceeds_epsilon(monkeypatch, low, high, epsilon):
    gammas = []
    monkeypatch.setattr(counting, "double_geometric", lambda gamma, _: gammas.append(gamma) or 0)
    noisy_count(low, low, high, epsilon, seeded(1))
    assert len(gammas) == 1 and 0 < gammas[0] * (high - low) <= Fraction(epsilon)


def test_too_high_a_cost_is_noticed(monkeypatch):
    size = 11  # its square root is 3.32, twice that is 6.63
    bounds = math.sqrt(size), 2 * math.sqrt(size)
    assert cost(with_rounded_bounds, monkeypatch, *bounds, 0.5) > 1.2 * 0.5
    assert cost(with_fractional_bounds, monkeypatch, *bounds, 0.5) == math.inf
    assert cost(overwritten, monkeypatch, 3, 6, 0.5) == math.inf


def p_value(release, count, low, high, epsilon):
    """How likely draws of the law are to be as far from it as those of the release.

    An end of the range has the mass of all noise that leads there or beyond.
    """
    q = math.exp(-epsilon / (high - low))
    centre, outcomes = clipped(count, low, high), np.arange(low, high + 1)
    mass = np.where((outcomes == low) | (outcomes == high), 1.0, 1.0 - q)
    chances = mass * q ** np.abs(outcomes - centre) / (1.0 + q)
    generator = seeded(2)
    draws = np.array([release(count, low, high, epsilon, generator) for _ in range(3000)])
    if draws.min() < low or draws.max() > high:
        return 0.0
    return chi_square(np.bincount(draws - low, minlength=len(outcomes)), chances)


@pytest.mark.parametrize("count", [0, 4, 6, 9, 1000])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 12.0])
def test_law_of_the_released_count(count, epsilon):
    assert p_value(noisy_count, count, 3, 9, epsilon) > 1e-3


def unclipped(count, low, high, epsilon, generator):
    return clipped(count, low, high) + drawn(epsilon, high - low, generator)


def noised_before_the_clip_alone(count, low, high, epsilon, generator):
    return clipped(count + drawn(epsilon, high - low, generator), low, high)


@pytest.mark.parametrize("wrong", [overwritten, unclipped, noised_before_the_clip_alone])
def test_a_wrong_law_is_noticed(wrong):
    assert p_value(wrong, 11, 3, 9, 1.0) < 1e-9


@pytest.mark.parametrize(("count", "released"), [(0, 3), (3, 3), (5, 5), (np.int64(9), 9), (50, 9)])
def test_without_privacy_the_count_is_clipped(count, released):
    assert noisy_count(count, 3, 9, math.inf, seeded(1)) == released


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"low": 3.2}, r"^low must be a whole number of at least 0, got 3.2 \(float\); round"),
        ({"low": -1}, r"^low must be a whole number"),
        ({"low": False}, r"^low must be a whole number"),
        ({"high": math.inf}, r"^high must be a whole number"),
        ({"high": True, "low": 0}, r"^high must be a whole number"),
        ({"low": 9}, r"^low must be below high, got 9 and 9; widen"),
        ({"epsilon": 0.0}, r"^epsilon must be a number above 0, got 0.0; pass math.inf"),
        ({"epsilon": -math.inf}, r"^epsilon must be"),
        ({"epsilon": math.nan}, r"^epsilon must be"),
        ({"epsilon": True}, r"^epsilon must be"),
        ({"epsilon": "1"}, r"^epsilon must be"),
        ({"epsilon": 10**400}, r"^epsilon must be"),
        ({"epsilon": Fraction(1, 10**400)}, r"^epsilon must be"),
        ({"count": 6.25}, r"^count must be a whole number; convert it"),
    ],
)
def test_what_is_refused(changes, match):
    given = {"count": 5, "low": 3, "high": 9, "epsilon": 1.0} | changes
    with pytest.raises(ValueError, match=match) as caught:
        noisy_count(**given, generator=seeded(1))
    assert "6.25" not in str(caught.value)
