"""Train on made-up sensitive text with and without privacy, and show both side by side."""

import math
import time

import numpy as np
import scipy.sparse as sp

from dplasso import ColumnMatrix, PrivateLassoClassifier

ROWS, TEST_ROWS, WORDS = 50_000, 10_000, 1_000_000


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


def main() -> None:
    X, y = make_notes(ROWS + TEST_ROWS, np.random.default_rng(7))
    start = time.perf_counter()
    held = ColumnMatrix.of(X[:ROWS])
    seconds = time.perf_counter() - start
    print(f"{ROWS:,} notes x {WORDS:,} words, {held.entries:,} entries;", end=" ")
    print(f"checked and held by columns in {seconds:.2f} s;", end=" ")
    print(f"majority on the test notes {max(y[ROWS:].mean(), 1 - y[ROWS:].mean()):.1%}\n")
    print(f"{'epsilon':>9}{'test accuracy':>16}{'rounds':>9}{'nonzeros':>11}{'training':>13}")
    for epsilon in (0.1, 0.3, 1.0, 3.0, math.inf):
        model = PrivateLassoClassifier(epsilon, classes=[0, 1], n_rows=ROWS)
        start = time.perf_counter()
        model.fit(held, y[:ROWS])
        seconds = time.perf_counter() - start
        name = "none" if math.isinf(epsilon) else f"{epsilon:g}"
        rounds = "-" if math.isinf(epsilon) else model.n_iter_
        print(
            f"{name:>9}{model.score(X[ROWS:], y[ROWS:]):>16.1%}{rounds:>9}"
            f"{np.count_nonzero(model.coef_):>11}{1e3 * seconds:>10.1f} ms"
        )
        if epsilon == 1.0:
            statement = str(model.privacy_)
    print(f"\n{statement}")


if __name__ == "__main__":
    main()
