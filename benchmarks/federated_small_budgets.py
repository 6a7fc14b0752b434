"""How a federation of sketches predicts where the budget is too small, against the mean of y.

    python benchmarks/federated_small_budgets.py [--seeds 10]

Fair coins at two or three parties, labels of -1 and 1, and one feature of each party that tells, or
none. delta = 1 / rows^2, all else as `agree` chooses it. Prints the mean squared error of the model
over that of the true mean of the labels, its mean over the seeds and the largest; 1 is the mean.
Saves it under benchmarks/results.
"""

import numpy as np
from harness.machine import machine
from harness.options import allow_seeds, parser
from harness.results import save

from dplasso.federated import agree, simulate

SIZES = [(1000, 2, 2), (1000, 50, 3), (20_000, 2, 2), (20_000, 50, 3)]
EPSILONS = (0.03, 0.1, 0.3, 1.0, 3.0, 8.0)


def made(
    rows: int, features: int, parties: int, signal: float, seed: int
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Blocks of coins, and labels whose larger class is about three quarters."""
    rng = np.random.default_rng(seed)
    X = rng.choice([0.0, 1.0], (rows, features * parties))
    weights = np.zeros(features * parties)
    weights[::features] = signal
    score = 0.6 + (X - 0.5) @ weights + rng.normal(size=rows)
    blocks = {f"p{k}": X[:, k * features : (k + 1) * features] for k in range(parties)}
    return blocks, np.where(score > 0.0, 1.0, -1.0)


def error(
    rows: int, features: int, parties: int, signal: float, epsilon: float, seed: int
) -> float:
    blocks, y = made(rows, features, parties, signal, seed)
    bounds = {"x_bounds": dict.fromkeys(blocks, 1.0), "y_bound": 1.0}
    public = {"n_rows": rows, "epsilon": epsilon, "delta": rows**-2.0, "seed": seed}
    terms = agree(dict.fromkeys(blocks, features), "p0", **public, **bounds)
    margins = simulate(terms, blocks, y, random_state=seed).margins(blocks)
    return float(np.mean((margins - y) ** 2) / y.var())


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--seeds", type=int, default=10)
    seeds = options.parse_args().seeds
    allow_seeds()
    lines = [f"{seeds} seeds, mean / largest error over that of the mean; {machine()}"]
    heads = "".join(f"{f'eps {epsilon:g}':>14}" for epsilon in EPSILONS)
    lines.append(f"{'rows':>8}{'features':>10}{'parties':>9}{'signal':>8}{heads}")
    for signal in (0.0, 1.6):
        for size in SIZES:
            cells = []
            for epsilon in EPSILONS:
                found = [error(*size, signal, epsilon, seed) for seed in range(seeds)]
                cells.append(f"{f'{np.mean(found):.2f} / {max(found):.2f}':>14}")
            rows, features, parties = size
            lines.append(f"{rows:8,}{features:10}{parties:9}{signal:8}{''.join(cells)}")
            print(lines[-1], flush=True)
    save("federated_small_budgets", "\n".join(lines))


if __name__ == "__main__":
    main()
