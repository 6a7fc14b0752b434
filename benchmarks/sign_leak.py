"""The published fast private Frank-Wolfe reads the sign of the gradient: what it gains by that.

    python benchmarks/sign_leak.py [--rounds 400000] [--seeds 3]

Algorithm 2 of "Scaling Up Differentially Private LASSO Regularized Logistic Regression via Faster
Frank-Wolfe Iterations" (NeurIPS 2023) draws a coordinate j by the size of its gradient and then, in
line 16, moves against its exact sign. The draw protects j; nothing protects the sign. This script

1. shows the leak on two neighbouring sets of one and two rows, where the released sign flips with
   certainty whatever the epsilon: delta = 1; and
2. trains at the paper's setting for News20 (epsilon 0.1, radius 5,000, 400,000 rounds) with the
   sign read and with the sign drawn, by the same noise, on the same rows.

Results with the sign read are NOT PRIVATE, whatever epsilon they were run with, and say so.
80 % of the rows are trained on, the others scored. Prints a table and saves it under
benchmarks/results.
"""

import math
import statistics
import time

import numpy as np
import scipy.sparse as sp
from harness import datasets
from harness.machine import machine
from harness.options import parser
from harness.results import save
from numba import njit
from sklearn.metrics import roc_auc_score

import dplasso

EPSILON, DELTA, RADIUS, PAPERS_ROUNDS = 0.1, 1e-6, 5000.0, 400_000
SETS = ("news20_rebuilt", "reuters21578_usa")
LEAKING = "sign read: NOT PRIVATE (epsilon = infinity)"


@njit(cache=True)
def leaking_walk(indptr, indices, values, labels, cumulative, ceiling, theta, radius, rounds, rng):
    """Frank-Wolfe whose coordinate is drawn by exp(theta |alpha_j|) and whose sign is read.

    Coordinates are proposed by ``ceiling`` (log-weights never exceeded, with their cumulative
    weights) and accepted by how much of it the gradient reaches. Gradients are those of the current
    iterate: stale ones, as published, would cloud the comparison.
    """
    margins, weights = np.zeros(len(labels)), np.zeros(len(indptr) - 1)
    factor = 1.0  # margins and weights are both to be multiplied by it
    for t in range(rounds):
        while True:
            j = np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right")
            alpha = 0.0
            for k in range(indptr[j], indptr[j + 1]):
                row = indices[k]
                residual = 1.0 / (1.0 + math.exp(-factor * margins[row])) - labels[row]
                alpha += values[k] * residual
            if math.log(rng.random()) < theta * abs(alpha) - ceiling[j]:
                break
        step = 2.0 / (t + 2.0)
        target = -radius if alpha > 0 else radius  # the leak
        if t == 0:
            margins[:], weights[:] = 0.0, 0.0  # the first step is the whole way
            factor = 1.0
        else:
            factor *= 1.0 - step
        move = step * target / factor
        weights[j] += move
        for k in range(indptr[j], indptr[j + 1]):
            margins[indices[k]] += move * values[k]
        if factor < 1e-100:
            margins *= factor
            weights *= factor
            factor = 1.0
    return weights * factor


def read_sign(X: sp.csc_array, y: np.ndarray, theta: float, rounds: int, seed: int) -> np.ndarray:
    norms = np.zeros(X.shape[1])
    held = np.diff(X.indptr) > 0
    norms[held] = np.add.reduceat(np.abs(X.data), X.indptr[:-1][held])
    ceiling = theta * norms
    arrays = (X.indptr, X.indices, X.data, y, np.cumsum(np.exp(ceiling)), ceiling)
    return leaking_walk(*arrays, theta, RADIUS, rounds, np.random.default_rng(seed))


def drawn_sign(X: sp.csc_array, y: np.ndarray, theta: float, rounds: int, seed: int) -> np.ndarray:
    """The same with the sign drawn: the product's rule."""
    solution = dplasso.frank_wolfe(
        X, y, loss=dplasso.LogisticLoss(), radius=RADIUS, rounds=rounds, theta=theta, generator=seed
    )
    return solution.weights.toarray()[0]


def papers_theta(rounds: int) -> float:
    """Half of epsilon / sqrt(8 T ln(1 / delta)), for entries of size at most 1."""
    return EPSILON / math.sqrt(8.0 * rounds * math.log(1.0 / DELTA)) / 2.0


def show_the_flip() -> str:
    """Adding one row turns the sign of the only gradient there is; no randomness is involved."""
    one, two = np.array([[0.5]]), np.array([[0.5], [1.0]])
    signs = []
    for X, y in ((one, np.array([1.0])), (two, np.array([1.0, 0.0]))):
        weights = read_sign(sp.csc_array(X), y, papers_theta(1), 1, seed=0)
        signs.append(int(np.sign(weights[0])))
    assert signs == [1, -1]
    return (
        "rows {(0.5, +)} release sign +1; rows {(0.5, +), (1, -)} release sign -1, always: "
        "delta = 1 at every epsilon"
    )


def study(name: str, rounds: int, seeds: int) -> list[dict]:
    found = datasets.real(name)
    if found is None:
        return []
    X, y = sp.csr_array(found[0].astype(np.float64)), found[1]
    held_out = np.random.default_rng(0).random(len(y)) < 0.2
    train, test = sp.csc_array(X[~held_out]), X[held_out]
    tight = dplasso.calibrate(EPSILON, DELTA, rounds)
    cases = (
        (LEAKING, read_sign, papers_theta(rounds)),
        ("sign drawn, the paper's noise", drawn_sign, papers_theta(rounds)),
        ("sign drawn, tight account", drawn_sign, tight),
    )
    rows = []
    for case, walk, theta in cases:
        scores, areas, zeros = [], [], []
        start = time.perf_counter()
        for seed in range(seeds):
            weights = walk(train, y[~held_out], theta, rounds, seed)
            margins = test @ weights
            scores.append(float(np.mean((margins > 0) == (y[held_out] > 0))))
            areas.append(float(roc_auc_score(y[held_out], margins)))
            zeros.append(float(np.mean(weights == 0)))
        row = {"data": name, "rule": case, "accuracy": statistics.mean(scores)}
        row |= {"auc": statistics.mean(areas), "zeros": statistics.mean(zeros), "rounds": rounds}
        rows.append(row | {"seeds": seeds, "seconds": (time.perf_counter() - start) / seeds})
        print(line(row))
    return rows


def line(row: dict) -> str:
    figures = f"{row['accuracy']:>9.1%} {row['auc']:>6.3f} {row['zeros']:>8.1%}"
    return f"{row['data']:<17} {row['rule']:<44} {figures}"


def main() -> None:
    command = parser(__doc__)
    command.add_argument("--rounds", type=int, default=PAPERS_ROUNDS)
    command.add_argument("--seeds", type=int, default=3)
    options = command.parse_args()
    flip = show_the_flip()
    head = f"{'data':<17} {'rule':<44} {'accuracy':>9} {'AUC':>6} {'zeros':>8}"
    print(f"{flip}\n\n{head}")
    rows = [row for name in SETS for row in study(name, options.rounds, options.seeds)]
    note = (
        f"epsilon {EPSILON}, delta {DELTA}, radius {RADIUS:,.0f}, {options.rounds:,} rounds, means "
        f"of {options.seeds} seeds, 20 % of the rows held out; {machine()}.\n"
        "The rows marked NOT PRIVATE promise nothing, whatever epsilon their noise was meant for."
    )
    text = "\n".join([flip, "", head, *map(line, rows), "", note])
    save("sign_leak", text, rows)


if __name__ == "__main__":
    main()
