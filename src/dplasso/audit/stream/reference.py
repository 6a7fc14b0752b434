"""A stream of noisy sums in plain numpy: its public numbers, and the privacy loss of a row.

A release is the sum of all rows so far, plus a known combination of independent noises: a row of a
matrix. A row of the data changes every release from its own on by the same vector. The releases are
distributed as if the row had instead shifted the noises, by any c that explains the change: matrix
@ c is 1 wherever the row is in the sum. The cheapest such c is the privacy loss of the releases:
for normal noise exactly its 2-norm; for Gamma noise at most its 1-norm, because costs add.

The product computes the first by triangular matrices. Here it is the least-norm solution of linear
equations, and the second is a linear program.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import linprog

from dplasso.audit.account import gaussian_epsilon, mu_of, multipliers_of, parts_of_event
from dplasso.audit.reference import Claim
from dplasso.base.arrays import Floats
from dplasso.privacy.events import Event, PureDP

GAMMA = "gamma"
_APART = 1e-7  # tolerance of equations
_SINGULAR = 1e-13  # of a variance, relative to the largest: less counts as no noise


@dataclass(frozen=True, kw_only=True)
class StreamFacts(Claim):
    """One configuration of an online estimator.

    ``window`` is the number of rows to protect, None for all; there are at most ``n_rows`` rows, if
    that is known; ``batch`` is the least number of rows per release; ``clip`` is the largest joint
    length of a row's gradients.
    """

    window: int | None
    n_rows: int | None
    batch: int
    noise: str
    clip: float
    shown = (*Claim.shown, "window", "n_rows", "batch", "noise", "clip")

    @property
    def steps_protected(self) -> int | None:
        """Number of releases that must hide a row: those made while it is in the window, or all;
        None where the stream is endless."""
        rows = self.n_rows if self.window is None else self.window
        return None if rows is None else -(-rows // self.batch)

    @property
    def reach(self) -> float:
        """The largest distance of the exact sums of two neighbours."""
        return self.rows_changed * self.clip


def in_sums(steps: int, row: int) -> Floats:
    """1 for every release that includes a row, counted from 0."""
    return (np.arange(steps) >= row).astype(np.float64)


def told(matrix: Floats, row: int, norm: int = 2) -> float:
    """Privacy loss of a row in releases: the least 2-norm, or 1-norm, of shifts that explain it.

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
    """The same for every row, from the releases that must hide it."""
    steps = len(matrix)
    ends = [steps if window is None else min(row + window, steps) for row in range(steps)]
    return np.array([told(matrix[:end], row, norm) for row, end in enumerate(ends)])


def likelihood_weights(matrix: Floats, row: int, end: int) -> Floats:
    """Weights of the releases before ``end`` whose sum is the log-likelihood ratio of a row, scaled
    to a variance of 1; no other test of the row is better."""
    seen = matrix[:end]
    weights = np.linalg.solve(seen @ seen.T, in_sums(end, row))
    return weights / np.linalg.norm(seen.T @ weights)


def fresh_noise(matrix: Floats, noise: Floats) -> Floats:
    """The fresh noise of every release given those before it, scaled to be standard normal.

    The first axis of ``noise`` is that of the releases.
    """
    variance = matrix @ matrix.T
    variance += _SINGULAR * variance.max() * np.eye(len(variance))
    whole = noise.reshape(len(noise), -1)
    fresh: Floats = solve_triangular(np.linalg.cholesky(variance), whole, lower=True)
    return fresh.reshape(noise.shape)


def single_draws(matrix: Floats) -> list[tuple[int, int | None]]:
    """Releases with a single source of noise, alone or in the difference to an earlier release."""
    found: list[tuple[int, int | None]] = []
    for step, row in enumerate(matrix):
        for other in (None, *range(step)):
            rest = row if other is None else row - matrix[other]
            if np.count_nonzero(rest) == 1 and rest.max() > 0.0:
                found.append((step, other))
                break
    return found


def gamma_deviation(numbers: int) -> float:
    """Standard deviation of one entry of a noise vector whose length has a Gamma law of scale 1.

    The mean square of that length is numbers (numbers + 1), and no direction is preferred.
    """
    return math.sqrt(numbers + 1.0)


def epsilon_of(cost: float, delta: float, norm: int) -> float:
    """Epsilon for the cost of shifts, which is a mu, or an epsilon itself."""
    return gaussian_epsilon(cost, delta) if norm == 2 else cost


def cost_of_event(event: Event) -> float:
    """The total cost of the event that an accountant was charged: an epsilon, or a mu."""
    pure = [part.epsilon for part, _ in parts_of_event(event) if isinstance(part, PureDP)]
    return sum(pure) if pure else mu_of(multipliers_of(event))
