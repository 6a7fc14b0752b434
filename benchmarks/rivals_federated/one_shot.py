"""One-shot sketching at preprocessing (Heinze-Deml, McWilliams and Meinshausen, 2017).

Every party multiplies its features by a random projection to ``width`` numbers a row, adds Gaussian
noise (Kenthapadi et al., 2013) and sends all rows, once: n x width numbers. There the parties then
solve the regression among themselves, with their own features as they are, and the labels are known
to all. Here everything that leaves a party must be private, so the labels have noise, too, and the
regression is the coordinator's, from what was sent: products of noisy numbers less the noise's own
square, within the L1 ball of the features' weights. It is given the bytes it needs.

A row costs, over all parties, (1 + sum of bounds on its squared length) in units of the noise:
the same neighbouring relation (a row there, or nothing in its place), account and budget as the
product's.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from dplasso.kernels.projections import onto_l1_ball
from dplasso.privacy import zcdp

NUMBER_BYTES = 4
LABEL_SHARE = 0.35
SWEEPS = 400


class Sent(NamedTuple):
    """What the coordinator has: noisy rows, noisy labels, projections (public), noise, bytes."""

    rows: np.ndarray
    labels: np.ndarray
    projections: list[np.ndarray]
    sigma: float
    uplink: int


def send(
    blocks: Mapping[str, np.ndarray],
    y: np.ndarray,
    width: int,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
) -> Sent:
    """Entries are between 0 and 1, taken about 1/2; labels between -1 and 1."""
    rho = zcdp.rho_of(epsilon, delta) if epsilon < math.inf else math.inf
    projections = [_projection(block.shape[1], width, rng) for block in blocks.values()]
    # No row is longer than this, whatever its values; an orthogonal projection lengthens none.
    squares = [block.shape[1] / 4.0 for block in blocks.values()]
    sigma = math.sqrt(sum(squares) / (2.0 * (1.0 - LABEL_SHARE) * rho))
    label_sigma = math.sqrt(1.0 / (2.0 * LABEL_SHARE * rho))
    rows = [
        (block - 0.5) @ projection + sigma * rng.normal(size=(len(y), projection.shape[1]))
        for block, projection in zip(blocks.values(), projections, strict=True)
    ]
    labels = y + label_sigma * rng.normal(size=len(y))
    numbers = len(y) * (1 + sum(projection.shape[1] for projection in projections))
    return Sent(np.hstack(rows), labels, projections, sigma, NUMBER_BYTES * numbers)


def fit(sent: Sent, radius: float) -> tuple[np.ndarray, float]:
    """Weights of the features and an intercept, for entries as they are."""
    n, width = sent.rows.shape
    rows = sent.rows - sent.rows.mean(axis=0)
    labels = sent.labels - sent.labels.mean()
    variance = sent.sigma**2
    levels, directions = np.linalg.eigh(rows.T @ rows - n * variance * np.eye(width))
    spread = variance * math.sqrt(n * width) + math.sqrt(variance) * float(np.linalg.norm(labels))
    levels = np.maximum(levels, 0.0) + spread + 1e-9 * n
    curvature = (directions * levels) @ directions.T
    back = _blocks(sent.projections)  # features x numbers
    weights = _in_ball(back @ curvature @ back.T, back @ (rows.T @ labels), levels[-1], radius)
    means = back @ sent.rows.mean(axis=0) + 0.5
    return weights, float(sent.labels.mean() - means @ weights)


def _projection(features: int, width: int, rng: np.random.Generator) -> np.ndarray:
    """Orthonormal columns, uniform over all such; with as many columns as features, no loss."""
    return np.linalg.qr(rng.normal(size=(features, min(width, features))))[0]


def _blocks(projections: list[np.ndarray]) -> np.ndarray:
    rows, columns = (sum(each.shape[k] for each in projections) for k in (0, 1))
    whole, row, column = np.zeros((rows, columns)), 0, 0
    for each in projections:
        whole[row : row + each.shape[0], column : column + each.shape[1]] = each
        row, column = row + each.shape[0], column + each.shape[1]
    return whole


def _in_ball(curvature: np.ndarray, slope: np.ndarray, most: float, radius: float) -> np.ndarray:
    point = ahead = np.zeros(len(slope))
    pace = 1.0
    for _ in range(SWEEPS):
        moved = onto_l1_ball(ahead - (curvature @ ahead - slope) / most, radius)
        following = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * pace * pace))
        ahead = moved + (pace - 1.0) / following * (moved - point)
        point, pace = moved, following
    return point
