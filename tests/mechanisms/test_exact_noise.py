"""Exact samplers follow their laws; a sampler with a wrong law would be noticed."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dplasso.mechanisms.exact_noise import (
    bernoulli,
    bernoulli_exp,
    double_geometric,
    geometric_exp,
    uniform_below,
)
from dplasso.mechanisms.random_bits import random_bits
from reference import chi_square, seeded

DRAWS = 4000
GAMMAS = [Fraction(5), Fraction(7, 5), Fraction(1), Fraction(0.3), Fraction(1, 50), Fraction(1e-6)]


def below(k, gamma):
    """Chance that a double geometric is less than k."""
    q = math.exp(-gamma)
    return math.exp(-gamma * (1 - k)) / (1 + q) if k <= 0 else 1 - math.exp(-gamma * k) / (1 + q)


def cells(gamma):
    """Where to cut the whole numbers: at each of the first few, or evenly where they are many."""
    width = math.ceil(1 / (8 * gamma))
    return [width * k for k in range(-30, 31)] + [1]


def p_value(sampler, gamma, chance_below=below):
    """How likely a sampler of the law is to be as far from it as this one."""
    cuts = np.unique(cells(gamma))
    cumulative = [0.0, *(chance_below(int(k), float(gamma)) for k in cuts), 1.0]
    generator = seeded(5)
    drawn = np.array([sampler(gamma, generator) for _ in range(DRAWS)])
    counts = np.bincount(np.searchsorted(cuts, drawn, side="right"), minlength=len(cuts) + 1)
    return chi_square(counts, np.diff(cumulative))


@pytest.mark.parametrize("gamma", GAMMAS, ids=float)
def test_law_of_the_double_geometric(gamma):
    assert p_value(double_geometric, gamma) > 1e-3


@pytest.mark.parametrize("gamma", GAMMAS, ids=float)
def test_law_of_the_geometric(gamma):
    def chance_below(k, gamma):
        return -math.expm1(-gamma * max(k, 0))

    assert p_value(geometric_exp, gamma, chance_below) > 1e-3


def with_two_zeros(gamma, generator):
    size = geometric_exp(gamma, generator)
    return -size if uniform_below(2, generator) else size


def with_a_favourite_sign(gamma, generator):
    drawn = double_geometric(gamma, generator)
    return abs(drawn) if uniform_below(4, generator) == 0 else drawn


def rounded_laplace(gamma, generator):
    return round(generator.laplace(scale=float(1 / gamma)))


def with_a_short_tail(gamma, generator):
    return max(-2, min(2, double_geometric(gamma, generator)))


@pytest.mark.parametrize(
    "wrong", [with_two_zeros, with_a_favourite_sign, rounded_laplace, with_a_short_tail]
)
def test_a_wrong_law_is_noticed(wrong):
    assert p_value(wrong, Fraction(1)) < 1e-9


@pytest.mark.parametrize("gamma", [Fraction(1, 2), Fraction(1e-6)], ids=float)
def test_signs_are_even(gamma):
    generator = seeded(6)
    signs = np.sign([double_geometric(gamma, generator) for _ in range(DRAWS)])
    assert abs(signs.sum()) < 4 * math.sqrt(np.count_nonzero(signs))


@pytest.mark.parametrize("gamma", [Fraction(1, 10), Fraction(1), Fraction(5, 2)], ids=float)
def test_chance_of_an_exponential_coin(gamma):
    generator = seeded(7)
    heads = sum(bernoulli_exp(gamma, generator) for _ in range(DRAWS))
    p = math.exp(-gamma)
    assert abs(heads - p * DRAWS) < 4 * math.sqrt(p * (1 - p) * DRAWS)


def test_certain_coins():
    generator = seeded(8)
    assert all(bernoulli_exp(Fraction(0), generator) for _ in range(50))
    assert not any(bernoulli_exp(Fraction(10**40), generator) for _ in range(50))
    assert all(bernoulli(Fraction(1), generator) for _ in range(50))
    assert not any(bernoulli(Fraction(0), generator) for _ in range(50))


class Dealt:
    """A generator that deals the given bytes and then stops."""

    def __init__(self, dealt):
        self.dealt = dealt

    def bytes(self, size):
        taken, self.dealt = self.dealt[:size], self.dealt[size:]
        if len(taken) < size:
            raise EOFError
        return taken


def outcomes(sampler, *arguments, size=1):
    """Counts of what a sampler makes of all dealings of so many bytes; None: it wants more."""
    counts = {}
    for dealt in range(256**size):
        try:
            drawn = sampler(*arguments, Dealt(dealt.to_bytes(size, "big")))
        except EOFError:
            drawn = None
        counts[drawn] = counts.get(drawn, 0) + 1
    return counts


@pytest.mark.parametrize("bound", [2, 3, 6, 128, 200, 256])
def test_all_bytes_make_every_number_below_a_bound_equally_often(bound):
    counts = outcomes(uniform_below, bound)
    each = 256 // 2 ** (bound - 1).bit_length()
    rejected = 256 - each * bound
    assert counts == dict.fromkeys(range(bound), each) | ({None: rejected} if rejected else {})


def test_all_pairs_of_bytes_make_every_number_below_a_bound_equally_often():
    assert outcomes(uniform_below, 300, size=2) == {None: 27136} | dict.fromkeys(range(300), 128)


def test_all_bytes_make_a_coin_of_its_probability():
    assert outcomes(bernoulli, Fraction(3, 7)) == {True: 96, False: 128, None: 32}


def test_one_number_below_one_takes_no_bits():
    assert uniform_below(1, Dealt(b"")) == 0


@pytest.mark.parametrize("bound", [2**64 + 1, 10**40, 3**200], ids=["2^64+1", "10^40", "3^200"])
def test_uniform_below_large_bounds(bound):
    generator = seeded(9)
    drawn = [uniform_below(bound, generator) for _ in range(DRAWS)]
    assert min(drawn) >= 0 and max(drawn) < bound
    for cell in (lambda k: 16 * k // bound, lambda k: k % 16):  # high digits, low digits
        counts = np.bincount([cell(k) for k in drawn], minlength=16)
        assert chi_square(counts, np.full(16, 1 / 16)) > 1e-3


def test_secure_bits_serve():
    generator = random_bits().generator
    assert len({uniform_below(10**40, generator) for _ in range(20)}) == 20
    assert isinstance(double_geometric(Fraction(1, 3), generator), int)


@pytest.mark.parametrize(
    ("sampler", "value", "match"),
    [
        (bernoulli_exp, 0.5, r"^gamma must be a Fraction, got float; convert it with Fraction"),
        (bernoulli_exp, Fraction(-1, 2), r"^gamma must be at least 0"),
        (double_geometric, 1, r"^gamma must be a Fraction, got int"),
        (double_geometric, Fraction(0), r"^gamma must be above 0"),
        (geometric_exp, Fraction(-1), r"^gamma must be above 0"),
        (bernoulli, 0.5, r"^probability must be a Fraction, got float"),
        (bernoulli, Fraction(3, 2), r"^probability must lie between 0 and 1"),
        (bernoulli, Fraction(-1, 2), r"^probability must lie between 0 and 1"),
        (uniform_below, 0, r"^bound must be a whole number of at least 1"),
    ],
)
def test_what_is_refused(sampler, value, match):
    with pytest.raises(ValueError, match=match):
        sampler(value, seeded(1))
