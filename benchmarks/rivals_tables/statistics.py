"""Least squares from noisy sums of products: AdaSSP, and plain noisy sufficient statistics.

Both add Gaussian noise to X'X and X'y of clipped rows with a constant, and solve with a ridge.
AdaSSP (Wang, "Revisiting differentially private linear regression", 2018) spends a third of mu^2 on
the smallest eigenvalue of X'X and adds as much ridge as it lacks; here the amount is multiplied by
``ridge``, 1 in the paper. The plain way has a ridge of ``ridge`` times the spectral norm of the
noise, and spends ``share`` of mu^2 on X'X. The account is exact. Grid: maps of rows (cells,
centred) x clipping length (.35 to 1 of the longest row) x ridges 3 apart x shares (.3 to .7, plain
only); then, around the best, clipping 1.15 apart, ridges 1.7 apart, a smaller or larger constant,
and clipped labels.
"""

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from rivals.accounts import gaussian_mu
from rivals.problem import Effort, Request, rounded

from rivals_tables.problem import TableProblem

CLIPS = (0.35, 0.5, 0.7, 1.0)
ADDED = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
RIDGES = (0.03, 0.1, 0.3, 1.0, 3.0)
SHARES = (0.3, 0.5, 0.7)
BIAS = 0.3
FAILURE = 0.05  # probability at which the ridge of AdaSSP does not suffice


class NoisyStatistics(NamedTuple):
    """A rival. ``adaptive`` is AdaSSP."""

    name: str
    adaptive: bool

    def effort(self, problem: TableProblem) -> Effort:
        return Effort(6, 4)

    def coarse(self, problem: TableProblem, epsilon: float) -> list[dict[str, Any]]:
        common = {"bias": BIAS, "labels": 1.0}
        return [
            {"map": name, "clip": clip, "ridge": ridge, "share": share, **common}
            for name in problem.maps
            for clip in CLIPS
            for ridge in (ADDED if self.adaptive else RIDGES)
            for share in ((1 / 3,) if self.adaptive else SHARES)
        ]

    def nearby(self, problem: TableProblem, epsilon: float, best: dict) -> list[dict[str, Any]]:
        changes = [
            *({"clip": rounded(best["clip"] * factor)} for factor in (1 / 1.15, 1.15)),
            *({"ridge": rounded(best["ridge"] * factor)} for factor in (1 / 1.7, 1.7)),
            *({"bias": bias} for bias in (0.15, 0.6, 1.0)),
            *({"labels": labels} for labels in (0.6, 0.8)),
        ]
        return [{**best, **change} for change in changes]

    def scores(
        self, problem: TableProblem, requests: Sequence[Request]
    ) -> Iterator[tuple[Request, dict[str, float]]]:
        for request in requests:
            settings = request.settings
            weights = self._weights(problem, request)
            test = problem.rows(settings["map"])[1].astype(np.float64)
            yield request, problem.judge(test @ weights[:-1] + settings["bias"] * weights[-1])

    def noise(self, epsilon: float, delta: float, settings: dict[str, Any]) -> tuple[float, ...]:
        """Noise standard deviations: of X'X, of X'y, and of its smallest eigenvalue if adaptive.

        Their sensitivities are the squared length of a clipped row, that length times the
        bound of labels, and the squared length again.
        """
        mu = gaussian_mu(epsilon, delta)
        longest = bound(settings)
        if self.adaptive:
            multiplier = math.sqrt(3.0) / mu
            moved = (longest**2, longest * settings["labels"], longest**2)
            return tuple(multiplier * each for each in moved)
        share = settings["share"]
        of_products = longest**2 / (math.sqrt(share) * mu)
        return of_products, longest * settings["labels"] / (math.sqrt(1.0 - share) * mu)

    def _weights(self, problem: TableProblem, request: Request) -> np.ndarray:
        settings = request.settings
        noise = self.noise(request.epsilon, problem.delta, settings)
        fields = (settings[field] for field in ("map", "bias", "labels"))
        products, sums = statistics(problem, bound(settings), *fields)
        rng = np.random.default_rng(request.seed)
        size = len(sums)
        matrix = products + symmetric_noise(size, noise[0], rng)
        sums = sums + noise[1] * rng.normal(size=size)
        if self.adaptive:
            smallest = float(np.linalg.eigvalsh(products)[0]) + noise[2] * rng.normal()
            wanted = noise[0] * math.sqrt(size * math.log(2.0 * size**2 / FAILURE))
            ridge = settings["ridge"] * max(wanted - max(smallest, 0.0), 0.0)
        else:
            ridge = settings["ridge"] * noise[0] * math.sqrt(2.0 * size)
        return np.linalg.lstsq(matrix + ridge * np.eye(size), sums, rcond=None)[0]


def bound(settings: dict[str, Any]) -> float:
    """The length to which rows with their constant are clipped."""
    return float(settings["clip"] * math.hypot(1.0, settings["bias"]))


def symmetric_noise(size: int, scale: float, rng: np.random.Generator) -> np.ndarray:
    """Noise of ``scale`` on the diagonal, and of 1 / sqrt(2) of it in the other places.

    That suffices for a symmetric matrix whose sensitivity in the Frobenius norm has noise of
    ``scale``: a product of two different columns fills two places.
    """
    drawn = np.triu(rng.normal(scale=scale / math.sqrt(2.0), size=(size, size)), 1)
    return drawn + drawn.T + np.diag(rng.normal(scale=scale, size=size))


@lru_cache(maxsize=64)
def statistics(
    problem: TableProblem, length: float, name: str, bias: float, labels: float
) -> tuple[np.ndarray, np.ndarray]:
    """X'X and X'y without noise: rows with their constant are clipped to ``length``."""
    train = problem.rows(name)[0].astype(np.float64)
    rows = np.column_stack([train, np.full(len(train), bias)])
    rows *= np.minimum(1.0, length / np.linalg.norm(rows, axis=1))[:, None]
    return rows.T @ rows, rows.T @ np.clip(problem.labels.astype(np.float64), -labels, labels)


ADASSP = NoisyStatistics("AdaSSP", adaptive=True)
NOISY_STATISTICS = NoisyStatistics("noisy X'X", adaptive=False)
