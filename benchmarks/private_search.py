"""Accuracy of `PrivateSearch` against the public rules and against a search that costs nothing.

    python benchmarks/private_search.py [--seeds 5]

On reuters21578_usa: *rules* is one fit at the whole epsilon, radius and rounds by the public rules;
*search* is a `PrivateSearch` at the same epsilon over the grid below, 20 trials on average; *worst*
and *best* are the worst and the best setting of the grid, fitted at the whole epsilon and picked by
accuracy on the test rows with nothing charged: not something a user can have. Frank-Wolfe, entries
bounded by 0.05, delta = 1e-6, a random 80 % of the rows, scored on the rest. Prints a table and
saves it as benchmarks/results/private_search.txt.
"""

import statistics

from harness.datasets import halves
from harness.machine import machine
from harness.options import allow_seeds, parser
from harness.results import save
from sklearn.model_selection import ParameterGrid

from dplasso import PrivateLassoClassifier, PrivateSearch

GRID = {"max_iter": [6, 20, 70, 200], "radius": [20.0, 60.0, 200.0]}
EPSILONS = (0.5, 1.0, 8.0)


def line(rows, epsilon: float, seeds: int) -> str:
    X, y, new, labels = rows
    known = {"classes": [0, 1], "n_rows": len(y), "x_bound": 0.05}
    model = PrivateLassoClassifier(epsilon, **known, solver="frank_wolfe")

    def mean(fitted) -> float:
        return statistics.mean(fitted(seed).fit(X, y).score(new, labels) for seed in range(seeds))

    rules = mean(lambda seed: PrivateLassoClassifier(**model.get_params()))
    settings = [
        mean(lambda seed, setting=setting: PrivateLassoClassifier(**model.get_params() | setting))
        for setting in ParameterGrid(GRID)
    ]
    search = mean(lambda seed: PrivateSearch(model, GRID, epsilon=epsilon))
    return f"{epsilon:7g}  {rules:.3f}  {search:.3f}   {min(settings):.3f}  {max(settings):.3f}"


def main() -> None:
    command = parser(__doc__)
    command.add_argument("--seeds", type=int, default=5)
    seeds = command.parse_args().seeds
    allow_seeds()
    table = [f"{machine()}; means of {seeds} runs", "epsilon  rules  search  worst  best"]
    rows = halves("reuters21578_usa")
    if rows is None:
        print("reuters21578_usa is not at hand")
        return
    for epsilon in EPSILONS:
        table.append(line(rows, epsilon, seeds))
        print(table[-1], flush=True)
    save("private_search", "\n".join(table))


if __name__ == "__main__":
    main()
