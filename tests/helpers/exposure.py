"""How much a stream of releases reveals about each row, computed from the noise alone.

This computes the cost of a construction in a second way: it uses only the noise of each release,
not the argument for the construction. Tests compare it with the charged cost. The audit has a third
way of its own.
"""

import math

import numpy as np
from scipy.linalg import solve_triangular

from dplasso.base.arrays import Floats

# A release counts as noiseless if at most this share of its noise is unknown given earlier ones.
_CLEAN = 1e-9


def exposure(noise_matrix: Floats, window: int | None = None) -> Floats:
    """The mu of every row: how much the releases that must protect a row reveal about it.

    Parameters
    ----------
    noise_matrix : array of shape (releases, sources)
        Coefficients of independent standard normal noise sources, in units of the sensitivity.
    window : int, optional
        Row i of the data is in releases i, i + 1, ... and is protected in all releases before
        number i + window; by default in all.

    Returns
    -------
    array of float64, one mu per row

    Formal guarantees
    -----------------
    Releases with covariance V that a row moves by a are |a|_V-GDP for that row, the square being a'
    V^-1 a, and not more private: the bound is attained. It is infinite if some linear combination
    of releases depends on the row and has no noise. Rows may depend on earlier releases: given
    those, the remaining releases move by the same vector in the same noise.

    Examples
    --------
    >>> exposure(np.eye(3), window=1).tolist()
    [1.0, 1.0, 1.0]
    >>> exposure(np.eye(3), window=2).round(3).tolist()
    [1.414, 1.414, 1.0]
    """
    steps = len(noise_matrix)
    horizons = np.minimum(np.arange(steps) + (window or steps), steps)
    triangle = _triangle(noise_matrix)
    fresh = np.abs(np.diag(triangle))
    if np.any(fresh <= _CLEAN * np.abs(noise_matrix).max(initial=0.0)):
        rows = [_exposure_of(noise_matrix[:end], row) for row, end in enumerate(horizons)]
        return np.array(rows)
    # The triangle of the first releases is the first part of the whole one, so one solution serves
    # every horizon. Its entries are what each release reveals beyond those before it.
    shown = solve_triangular(triangle, np.tri(steps), lower=True) ** 2
    shown[np.arange(steps)[:, None] >= horizons] = 0.0
    mu: Floats = np.sqrt(shown.sum(axis=0))
    return mu


def _exposure_of(noise_matrix: Floats, row: int) -> float:
    """The same for one row and the given releases, whose covariance may be singular."""
    axes, sizes, _ = np.linalg.svd(noise_matrix)
    moved = axes.T @ (np.arange(len(noise_matrix)) >= row)
    noisy = sizes > _CLEAN * sizes.max(initial=0.0)
    noisy = np.append(noisy, np.zeros(len(moved) - len(noisy), bool))
    if np.any(np.abs(moved[~noisy]) > _CLEAN):
        return math.inf
    return float(np.linalg.norm(moved[noisy] / sizes[noisy[: len(sizes)]]))


def telling_statistic(noise_matrix: Floats, row: int, window: int | None = None) -> Floats:
    """Weights of the releases in the most powerful statistic for one row while it is protected.

    The statistic has variance 1 in units of the sensitivity, and the row moves it by its
    `exposure`.

    Parameters
    ----------
    noise_matrix, window
        As for `exposure`.
    row : int
        The row, counted from 0.

    Returns
    -------
    array of float64, one weight per release
    """
    steps = min(len(noise_matrix), row + (window or len(noise_matrix)))
    triangle = _triangle(noise_matrix[:steps])
    moved = solve_triangular(triangle, np.tri(steps)[:, row], lower=True)
    weights: Floats = solve_triangular(triangle, moved, lower=True, trans="T")
    return np.pad(weights / np.linalg.norm(moved), (0, len(noise_matrix) - steps))


def _triangle(noise_matrix: Floats) -> Floats:
    """The lower triangular matrix with the same covariance."""
    steps, sources = noise_matrix.shape
    if steps == sources and not np.triu(noise_matrix, 1).any():
        return noise_matrix
    padded = np.pad(noise_matrix, ((0, 0), (0, max(0, steps - sources))))
    upper: Floats = np.linalg.qr(padded.T, mode="r")  # type: ignore[assignment]  # one, not two
    signs = np.where(np.diag(upper) < 0.0, -1.0, 1.0)
    triangle: Floats = (upper * signs[:, None]).T
    return triangle
