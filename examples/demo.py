"""Train on made-up sensitive text with and without privacy, and show both side by side."""

import math
import time

import numpy as np
import scipy.sparse as sp

import dplasso

ROWS, TEST_ROWS, WORDS = 50_000, 10_000, 1_000_000
ROUNDS, RADIUS, DELTA = 60, 20.0, 1e-6


def make_notes(rows: int, rng: np.random.Generator) -> tuple[sp.csr_array, np.ndarray]:
    """Notes of about 40 words each, drawn by Zipf's law; 25 words tell of the label."""
    lengths = rng.poisson(40, rows) + 1
    # The k-th commonest word has probability about 1 / (k ln WORDS).
    words = np.floor(np.exp(rng.random(lengths.sum()) * math.log(WORDS))).astype(np.int64) - 1
    starts = np.concatenate(([0], np.cumsum(lengths)))
    notes = sp.csr_array((np.ones(len(words)), words, starts), shape=(rows, WORDS))
    notes.sum_duplicates()
    notes.data[:] = 1.0
    telling = np.arange(5, 30)
    effect = np.where(telling % 2 == 0, 2.0, -2.0)
    margin = notes[:, telling] @ effect
    return notes, (rng.random(rows) < 1.0 / (1.0 + np.exp(-margin))).astype(int)


def accuracy(solution: dplasso.Solution, X: sp.csr_array, y: np.ndarray) -> float:
    margins = (X @ solution.weights.T.tocsc()).toarray()[:, 0]
    return float(np.mean((margins > 0) == y))


def main() -> None:
    rng = np.random.default_rng(7)
    X, y = make_notes(ROWS + TEST_ROWS, rng)
    train, test = slice(0, ROWS), slice(ROWS, None)
    start = time.perf_counter()
    matrix = dplasso.ColumnMatrix.of(X[train])
    held = time.perf_counter() - start
    print(f"{ROWS:,} notes x {WORDS:,} words, {matrix.entries:,} entries;", end=" ")
    print(f"checked and held by columns in {held:.2f} s")
    print(
        f"{ROUNDS} rounds, radius {RADIUS:g}, delta {DELTA:g}; majority on the test notes", end=" "
    )
    print(f"{max(y[test].mean(), 1 - y[test].mean()):.1%}\n")
    print(f"{'epsilon':>9}{'test accuracy':>16}{'nonzeros':>11}{'training':>13}")
    loss = dplasso.LogisticLoss()
    for epsilon in (0.1, 0.3, 1.0, 3.0, math.inf):
        theta = dplasso.calibrate(
            epsilon, DELTA, ROUNDS, gradient_bound=loss.gradient_bound(RADIUS, 1.0)
        )
        start = time.perf_counter()
        solution = dplasso.frank_wolfe(
            matrix, y[train], loss=loss, radius=RADIUS, rounds=ROUNDS, theta=theta
        )
        seconds = time.perf_counter() - start
        name = "none" if math.isinf(epsilon) else f"{epsilon:g}"
        print(
            f"{name:>9}{accuracy(solution, X[test], y[test]):>16.1%}{solution.weights.nnz:>11}"
            f"{1e3 * seconds:>10.1f} ms"
        )
    print(
        "\nepsilon and delta are for adding or removing one note, over all rounds of one line. The"
        "\nwords, the bound 1 on entries, the two labels, rounds and radius are taken as public."
    )


if __name__ == "__main__":
    main()
