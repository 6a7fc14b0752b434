"""Bounds on computed scores: those of exact arithmetic, plus rounding errors.

A score in exact arithmetic is a sum over the entries x_i of a column of x_i r_i, r_i the gradient
of row i at its margin. Its absolute value is at most ``Q ||x||_1`` (Q the bound on gradients), and
it moves by at most ``lipschitz * ||x||_2`` times the distance that the margins move. The computed
score differs from that, at the margins as they are stored, by two kinds of rounding (u = 2^-53):

* every product is rounded to a whole number of grains: by half a grain, and by less than 1e-4 of
  one more, because products are at most 2^36 grains and are off by a few u of themselves;
* the computed gradient of a row is off by at most ``Q (5e-14 + 6 K u) + 4 u Y``, K the number of
  classes and Y the largest label. With classes Q is at least 1/2. An exponential is off by 1e-14 of
  itself; its argument x <= 0, off by 2 u of itself, moves it by 2 u |x| e^x < u more; in a sum of K
  of them and a quotient that makes 2.2e-14 + (2 K + 1) u. A residual matters only where it is not
  clipped, at margins of at most Y + Q: there it is off by 3 u (Y + Q).

A residual is clipped at Q. Without a bound on residuals, Q is their largest value at the edge of
the ball. Rounding can move margins out of the ball by at most 4 u of it per round: the clip then
makes the score move less than its slope of 1 says, by no more than that.

`padding` is twice the sum of these, because two computed scores are compared, plus 1e-13 of
Q ||x||_1 for the rounding of the intervals themselves, which is a few u of the limit.

Entries below 2^-37 of the bound add nothing to a computed score: it does not matter that their
squares may underflow in a 2-norm.
"""

import numpy as np

from dplasso.base.arrays import Floats, Ints
from dplasso.kernels.problem import Problem
from dplasso.kernels.scores import GRAIN

_U = 2.0**-53


def padding(problem: Problem, entries: Ints, norm1: Floats, rounds: int) -> Floats:
    """Bound on the rounding error of the difference of two scores, per column; see the module."""
    largest = float(np.max(np.abs(problem.labels)))
    gradient = problem.gradient_bound * (1e-13 + 6.0 * problem.classes * _U) + 4.0 * _U * largest
    if problem.curvature_low > 0.0:  # the bounds do not allow for the slope of 0 beyond the clip
        gradient += 4.0 * _U * rounds * problem.radius * problem.x_bound
    return entries * _grain(problem) * (1.0 + 2e-4) + 2.0 * norm1 * gradient


def limit(problem: Problem, entries: Ints, norm1: Floats, rounds: int) -> Floats:
    """Largest absolute value that the score of each column can have; ``norm1`` is rounded up.

    Rounding can move margins out of the ball by at most 4 u of the radius per round.
    """
    beyond = 1.0 + 1e-9 + 4.0 * _U * rounds
    return problem.gradient_bound * norm1 * beyond + padding(problem, entries, norm1, rounds)


def drift(problem: Problem, entries: Ints, norm2: Floats) -> Floats:
    """How far the score of each column can move per unit of length that the margins move.

    The 2-norm of n entries, summed in any order, is off by at most n u / 2 of itself.
    """
    return problem.lipschitz * norm2 * (1.0 + 1e-12 + _U * entries)


def most_rounding(problem: Problem) -> float:
    """Bound on the error that rounding to grains adds to the score of any column."""
    return len(problem.labels) * _grain(problem) * (1.0 + 2e-4)


def _grain(problem: Problem) -> float:
    return GRAIN * problem.x_bound * problem.gradient_bound
