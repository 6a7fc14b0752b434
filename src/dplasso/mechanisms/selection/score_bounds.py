"""Bounds on scores as they are computed: what exact arithmetic allows, and what rounding adds.

A score in exact arithmetic is a sum over the entries x_i of a column of x_i r_i, r_i the gradient
of row i at its margin. It is at most ``Q ||x||_1`` in size (Q the bound on gradients), and moves by
at most ``lipschitz * ||x||_2`` times the length that the margins come. The computed score differs
from that, at the margins as they are held, by two kinds of rounding (u = 2^-53):

* every product is rounded to a whole number of grains: by half a grain, and by less than 1e-4 of
  one more, because products are at most 2^36 grains and are off by a few u of themselves;
* the computed gradient of a row is off by at most ``Q (5e-14 + 6 K u) + 4 u Y``, K the number of
  classes and Y the largest label. With classes Q is at least 1/2. An exponential is off by 1e-14 of
  itself; its argument x <= 0, off by 2 u of itself, moves it by 2 u |x| e^x < u more; in a sum of K
  of them and a quotient that makes 2.2e-14 + (2 K + 1) u. A residual matters only where it is not
  cut, at margins of at most Y + Q: there it is off by 3 u (Y + Q).

A residual is cut at Q. Without a bound on residuals Q is what they come to at the edge of the ball,
which margins leave by rounding, by 4 u of it in a round at most: what is then cut off moves the
score less than its slope of 1 says, by no more than that.

`padding` is twice all of these, because two computed scores are compared, and 1e-13 of Q ||x||_1
more, for the rounding of the intervals themselves, which is a few u of the limit.

Entries below 2^-37 of the bound count nothing in a computed score: it does not matter that their
squares may underflow in a 2-norm.
"""

import numpy as np

from dplasso.base.arrays import Floats, Ints
from dplasso.kernels.problem import Problem
from dplasso.kernels.scores import GRAIN

_U = 2.0**-53


def padding(problem: Problem, entries: Ints, norm1: Floats, rounds: int) -> Floats:
    """Most that rounding can add to the difference of two scores of columns; see the module."""
    largest = float(np.max(np.abs(problem.labels)))
    gradient = problem.gradient_bound * (1e-13 + 6.0 * problem.classes * _U) + 4.0 * _U * largest
    if problem.curvature_low > 0.0:  # a slope of 0 is not among those that bounds allow for
        gradient += 4.0 * _U * rounds * problem.radius * problem.x_bound
    return entries * _grain(problem) * (1.0 + 2e-4) + 2.0 * norm1 * gradient


def limit(problem: Problem, entries: Ints, norm1: Floats, rounds: int) -> Floats:
    """The largest size that scores of columns can ever have, ``norm1`` being rounded up.

    Margins leave the ball by rounding: by 4 u of the radius in a round at most.
    """
    beyond = 1.0 + 1e-9 + 4.0 * _U * rounds
    return problem.gradient_bound * norm1 * beyond + padding(problem, entries, norm1, rounds)


def drift(problem: Problem, entries: Ints, norm2: Floats) -> Floats:
    """How far scores of columns can move for each unit of length that the margins come.

    The 2-norm of n entries, added up in any order, is off by at most n u / 2 of itself.
    """
    return problem.lipschitz * norm2 * (1.0 + 1e-12 + _U * entries)


def most_rounding(problem: Problem) -> float:
    """Most that rounding to grains can add to the size of any score, whatever its column has."""
    return len(problem.labels) * _grain(problem) * (1.0 + 2e-4)


def _grain(problem: Problem) -> float:
    return GRAIN * problem.x_bound * problem.gradient_bound
