"""One row, told from releases as well as anyone could: no better than the account says.

Coordinates are as many experiments. With a row of 1 in each, a row of d numbers is sqrt(d) long; at
sqrt(d) times the mu, each coordinate by itself is a stream whose row moves it by 1, at mu = 1.
"""

import math

import numpy as np
import pytest

from dplasso.streams import covers, running_sum
from exposure import exposure, telling_statistic

RUNS, WINDOW, STEPS = 8000, 8, 24
ERROR = 5.0 * math.sqrt(2.0 / RUNS)


def others(row: int) -> np.ndarray:
    """The rest of the stream, which whoever attacks knows."""
    rows = np.random.default_rng(0).normal(size=(STEPS, RUNS)) * 0.5
    rows[row] = 0.0
    return rows


def releases(construction: str, row: int, value: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Released sums of a stream whose row is all ``value``, and the matrix of their noise."""
    sums = running_sum(
        RUNS,
        sensitivity=math.sqrt(RUNS),
        window=WINDOW,
        rho=RUNS / 2.0,
        construction=construction,
        seed=seed,
    )
    stream = others(row)
    stream[row] = value
    noise = sums.noise.noise_matrix(STEPS) * math.sqrt(RUNS)  # in units of a coordinate's 1
    return np.stack([sums.add(vector) for vector in stream]), noise


def estimated_mu(construction: str, row: int) -> float:
    """By the best statistic of the releases that protect the row: shift over standard deviation."""
    (present, noise), (absent, _) = (
        releases(construction, row, value, seed) for seed, value in enumerate((1.0, 0.0))
    )
    weights, known = telling_statistic(noise, row, WINDOW), np.cumsum(others(row), axis=0)
    shown, hidden = weights @ (present - known), weights @ (absent - known)
    return float((shown.mean() - hidden.mean()) / np.std(hidden))


@pytest.mark.parametrize("construction", ["band", "buffered", "tree", "window_tree"])
@pytest.mark.parametrize("row", [0, 8, 11])
def test_a_row_is_told_as_well_as_the_account_says_and_no_better(construction, row) -> None:
    _, noise = releases(construction, row, 0.0, seed=3)
    stated = exposure(noise, WINDOW)[row]
    assert stated <= 1.0 + 1e-6
    assert estimated_mu(construction, row) == pytest.approx(stated, abs=ERROR)


def test_planted_clean_previous_block_is_told_from_releases(monkeypatch) -> None:
    """A row in the middle of a block, whose noise goes when the next block starts."""

    def forgetful(block: int) -> covers.Cover:
        def cover(step: int) -> list[covers.Node]:
            start = (step - 1) // block * block
            return covers.prefix(start, step - start)

        return cover

    monkeypatch.setattr(covers, "root_kept", forgetful)
    found = max(estimated_mu("tree", row) for row in (10, 11, 12))
    assert found > 1.0 + ERROR
