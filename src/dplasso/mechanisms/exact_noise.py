"""Exact noise: only integer arithmetic decides a draw, never floating point.

Formal guarantees
-----------------
If the generator's bits are independent and fair, every function here follows its stated law
exactly, without rounding and without a truncated tail (Canonne, Kamath and Steinke, 2020,
section 5). None reads data: the mechanism that adds the noise states the neighbouring relation and
the cost. The time a draw takes depends on the draw, and is not protected.
"""

from fractions import Fraction

import numpy as np

_ONE = Fraction(1)


def uniform_below(bound: int, generator: np.random.Generator) -> int:
    """A uniform whole number in [0, bound), however large the bound."""
    if bound < 1:
        raise ValueError(f"bound must be a whole number of at least 1, got {bound!r}")
    bits = (bound - 1).bit_length()
    size = (bits + 7) // 8
    while True:
        drawn = int.from_bytes(generator.bytes(size), "little") >> (8 * size - bits)
        if drawn < bound:
            return drawn


def bernoulli(probability: Fraction, generator: np.random.Generator) -> bool:
    """True with the given probability."""
    probability = _fraction("probability", probability)
    if not 0 <= probability <= 1:
        raise ValueError(f"probability must lie between 0 and 1, got {probability}")
    return uniform_below(probability.denominator, generator) < probability.numerator


def bernoulli_exp(gamma: Fraction, generator: np.random.Generator) -> bool:
    """True with probability exp(-gamma), for gamma >= 0."""
    gamma = _fraction("gamma", gamma)
    if gamma < 0:
        raise ValueError(f"gamma must be at least 0, got {gamma}")
    whole, rest = divmod(gamma, 1)
    ones = all(_bernoulli_exp_to_one(_ONE, generator) for _ in range(whole))
    return ones and _bernoulli_exp_to_one(rest, generator)


def geometric_exp(gamma: Fraction, generator: np.random.Generator) -> int:
    """k = 0, 1, 2, ... with probability proportional to exp(-gamma k), for gamma > 0.

    With gamma = s / t, a number with ratio exp(-1/t) is drawn first, as remainder and quotient
    modulo t, which are independent; it is then divided by s and rounded down. The work is a few
    draws whatever gamma is.
    """
    gamma = _fraction("gamma", gamma)
    if gamma <= 0:
        raise ValueError(f"gamma must be above 0, got {gamma}")
    while True:
        remainder = uniform_below(gamma.denominator, generator)
        if _bernoulli_exp_to_one(Fraction(remainder, gamma.denominator), generator):
            break
    quotient = 0
    while _bernoulli_exp_to_one(_ONE, generator):
        quotient += 1
    return (quotient * gamma.denominator + remainder) // gamma.numerator


def double_geometric(gamma: Fraction, generator: np.random.Generator) -> int:
    """Any whole number k, with probability proportional to exp(-gamma |k|), for gamma > 0."""
    while True:
        size, negative = geometric_exp(gamma, generator), uniform_below(2, generator)
        # Zero must not count twice: a negative zero is drawn again.
        if size > 0 or not negative:
            return -size if negative else size


def _bernoulli_exp_to_one(gamma: Fraction, generator: np.random.Generator) -> bool:
    """True with probability exp(-gamma), for gamma between 0 and 1.

    Coins of probability gamma / k, k = 1, 2, ..., are tossed until one fails. All of the first k
    succeed with probability gamma^k / k!, so the series of exp(-gamma) is the probability that the
    first coin to fail has an odd k.
    """
    k = 1
    while bernoulli(gamma / k, generator):
        k += 1
    return k % 2 == 1


def _fraction(name: str, value: Fraction) -> Fraction:
    if not isinstance(value, Fraction):
        kind = type(value).__name__
        raise ValueError(f"{name} must be a Fraction, got {kind}; convert it with Fraction({name})")
    return value
