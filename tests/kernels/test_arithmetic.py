"""The engine's own exponential and sigmoid, against exact ones, inside loops as it uses them."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numba import njit

from dplasso.kernels import arithmetic, envelope


@njit
def exponentials(x, out):
    for i in range(x.size):
        out[i] = arithmetic.exponential(x[i])


@njit
def sigmoids(x, out):
    for i in range(x.size):
        out[i] = arithmetic.sigmoid(x[i])


@njit
def integers(x, out):
    for i in range(x.size):
        out[i] = arithmetic.nearest_integer(x[i])


@njit
def picked(values, position):
    return arithmetic.entry(values, position)


def applied(loop, x, kind=np.float64):
    out = np.empty(len(x), kind)
    loop(x, out)
    return out


def spread(low, high, count, seed):
    """Numbers of both signs over all orders of magnitude, and evenly; ends and halves of ln 2."""
    rng = np.random.default_rng(seed)
    sizes = np.exp(rng.uniform(math.log(low), math.log(high), count))
    even = rng.uniform(-high, high, count)
    halves = (np.arange(-1000, 1001) + 0.5) * math.log(2.0)
    halves = np.concatenate([halves, np.nextafter(halves, np.inf), np.nextafter(halves, -np.inf)])
    x = np.concatenate([sizes, -sizes, even, halves, [0.0, -0.0, high, -high, 5e-324]])
    return x[np.abs(x) <= high]


def ulps(found, exact):
    return np.abs(found - exact) / np.spacing(np.abs(exact))


def exactly(function, x):
    with mpmath.workdps(40):
        return np.array([float(function(mpmath.mpf(float(v)))) for v in x])


def test_exponential_within_1e_14():
    x = spread(1e-300, 708.0, 1500, seed=0)
    assert ulps(applied(exponentials, x), exactly(mpmath.exp, x)).max() <= 64.0


def test_exponential_everywhere():
    x = spread(1e-20, 708.0, 300_000, seed=1)
    # numpy's own is within one.
    assert ulps(applied(exponentials, x), np.exp(x)).max() <= 64.0
    assert applied(exponentials, np.zeros(1)) == 1.0


def test_sigmoid_to_a_few_ulp():
    x = spread(1e-300, 700.0, 1500, seed=2)
    exact = exactly(lambda v: 1 / (1 + mpmath.exp(-v)), x)
    assert ulps(applied(sigmoids, x), exact).max() <= 64.0


def test_sigmoid_keeps_its_range_and_symmetry():
    x = np.concatenate([spread(1e-10, 700.0, 100_000, seed=3), np.logspace(0, 308, 10_000)])
    found = applied(sigmoids, x)
    assert np.all((found >= 0.0) & (found <= 1.0))
    assert np.abs(found + applied(sigmoids, -x) - 1.0).max() <= 1e-14


@pytest.mark.parametrize("size", [700.5, 710.0, 1e4, 1e308, math.inf])
def test_sigmoid_of_extremes(size):
    high, low = applied(sigmoids, np.array([size, -size]))
    assert high == 1.0
    assert 0.0 <= low <= math.exp(-699.9)


def test_a_loop_and_a_single_call_agree_to_the_last_bit():
    """Scores are computed in loops of any length; vectors and remainders must not differ."""
    x = spread(1e-5, 700.0, 200, seed=5)
    whole = applied(sigmoids, x)
    for length in (1, 3, 7):
        parts = [applied(sigmoids, x[k : k + length]) for k in range(0, len(x), length)]
        assert np.array_equal(np.concatenate(parts), whole)


@settings(deadline=None)
@given(
    st.floats(-(2.0**51) + 1, 2.0**51 - 1)
    | st.integers(-(2**50), 2**50).map(lambda n: n + 0.5)
    | st.integers(-(2**51) + 1, 2**51 - 1).map(float)
)
@example(0.5)
@example(-0.5)
@example(0.49999999999999994)
@example(-(2.0**36))
def test_nearest_integer(x):
    assert applied(integers, np.array([x]), np.int64)[0] == int(np.rint(x))


@settings(deadline=None)
@given(st.floats(2.0**-1022, exclude_min=False, allow_infinity=False) | st.floats(0.7, 1.6))
@example(1.0)
@example(1.5)
@example(math.nextafter(1.5, 0.0))
@example(0.75)
@example(math.nextafter(0.75, 0.0))
@example(2.0**53 - 1.0)
def test_logarithm_within_1e_14(x):
    with mpmath.workdps(40):
        exact = float(mpmath.log(mpmath.mpf(x)))
    assert arithmetic.logarithm(x) == pytest.approx(exact, rel=1e-14, abs=1e-14)


def test_the_most_that_a_light_vertex_weighs():
    with mpmath.workdps(40):
        exact = mpmath.log(2 * mpmath.cosh(mpmath.mpf(envelope.KAPPA)))
        assert abs(mpmath.mpf(envelope.LIGHT_NATS) - exact) < 2e-16


def test_an_entry_of_a_matrix_without_values_is_one():
    assert picked(None, 3) == arithmetic.entry(None, 3) == 1.0
    values = np.array([0.5, -2.0])
    assert picked(values, 1) == arithmetic.entry(values, 1) == -2.0
