"""What a stream of sums tells of a row, computed a second time from the noise alone.

A release is the sum of all rows so far, plus a known combination of independent noises: a row of a
matrix. A row of the data moves every release from its own on by the same vector. Whoever looks at
the releases could as well have seen that row's part in the noises, shifted by any c that explains
the change: matrix @ c is 1 wherever the row is in the sum. The cheapest such c is what the releases
tell: of normal noise by its 2-norm, exactly; of Gamma noise at most by its 1-norm, as costs add.

The product finds the first by triangular matrices. Here it is the least solution of linear
equations, and the second a linear program.
"""

import math

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import linprog

from dplasso.audit.account import parts_of_event
from dplasso.audit.descent.account import gaussian_epsilon, mu_of, multipliers_of
from dplasso.base.arrays import Floats
from dplasso.privacy.events import Event, PureDP

_APART = 1e-7  # of equations that should be met
_SINGULAR = 1e-13  # of a variance, beside the largest: noise that is none


def in_sums(steps: int, row: int) -> Floats:
    """1 for every release that a row, counted from 0, is in."""
    found: Floats = (np.arange(steps) >= row).astype(np.float64)
    return found


def told(matrix: Floats, row: int, norm: int = 2) -> float:
    """What releases tell of a row: the least 2-norm, or 1-norm, of shifts that explain it.

    >>> round(told(np.eye(4), row=1), 6), round(told(np.eye(4), row=1, norm=1), 6)
    (1.732051, 3.0)
    """
    moved = in_sums(len(matrix), row)
    if norm == 2:
        shift = np.linalg.lstsq(matrix, moved, rcond=_SINGULAR)[0]
        apart = float(np.abs(matrix @ shift - moved).max())
        return float(np.linalg.norm(shift)) if apart < _APART else math.inf
    both = np.hstack([matrix, -matrix])
    found = linprog(np.ones(both.shape[1]), A_eq=both, b_eq=moved)
    return float(found.fun) if found.success else math.inf


def told_while_protected(matrix: Floats, window: int | None, norm: int = 2) -> Floats:
    """The same of every row, by the releases that it must not show in."""
    steps = len(matrix)
    ends = [steps if window is None else min(row + window, steps) for row in range(steps)]
    return np.array([told(matrix[:end], row, norm) for row, end in enumerate(ends)])


def likelihood_weights(matrix: Floats, row: int, end: int) -> Floats:
    """Weights of the releases before ``end`` whose sum is the likelihood ratio of a row, scaled to
    a variance of 1; no other test of the row is better."""
    seen = matrix[:end]
    weights = np.linalg.solve(seen @ seen.T, in_sums(end, row))
    scaled: Floats = weights / np.linalg.norm(seen.T @ weights)
    return scaled


def fresh_noise(matrix: Floats, noise: Floats) -> Floats:
    """What every release adds to those before it, in units of what it should: standard normal.

    ``noise`` is releases x whatever.
    """
    variance = matrix @ matrix.T
    variance += _SINGULAR * variance.max() * np.eye(len(variance))
    whole = noise.reshape(len(noise), -1)
    fresh: Floats = solve_triangular(np.linalg.cholesky(variance), whole, lower=True)
    return fresh.reshape(noise.shape)


def single_draws(matrix: Floats) -> list[tuple[int, int | None]]:
    """Releases that differ from none, or from an earlier one, by a single source of noise."""
    found: list[tuple[int, int | None]] = []
    for step, row in enumerate(matrix):
        for other in (None, *range(step)):
            rest = row if other is None else row - matrix[other]
            if np.count_nonzero(rest) == 1 and rest.max() > 0.0:
                found.append((step, other))
                break
    return found


def gamma_deviation(numbers: int) -> float:
    """Standard deviation of a number of a noise vector whose length has a Gamma law of scale 1.

    The mean square of that length is numbers (numbers + 1), and no direction is preferred.
    """
    return math.sqrt(numbers + 1.0)


def epsilon_of(cost: float, delta: float, norm: int) -> float:
    """Epsilon of shifts that cost so much: a mu, or an epsilon itself."""
    return gaussian_epsilon(cost, delta) if norm == 2 else cost


def cost_of_event(event: Event) -> float:
    """The cost of what an accountant was charged, all of it: an epsilon, or a mu."""
    pure = [part.epsilon for part, _ in parts_of_event(event) if isinstance(part, PureDP)]
    return sum(pure) if pure else mu_of(multipliers_of(event))
