"""Where the weights of words pay: roots of entries against their presence, by the signal.

    python benchmarks/row_maps.py [--sets reuters21578_usa] [--epsilons 0.1,1] [--seeds 20]

*signal* is the number of rows times mu, by which ``row_map="auto"`` chooses (`roots_pay` in the
rules of a fit). Beside it stand accuracy and log-loss by presence, and how much more roots have of
either, with standard errors over seeds. Only sets whose rows have entries of different size can
tell. Prints a table and saves it as benchmarks/results/row_maps.txt.
"""

import math
import statistics

from comparison import ours, splits
from harness import measures
from harness.machine import machine
from harness.options import allow_seeds, study
from harness.results import save

from dplasso.privacy.gaussian import mu_of

SETS = ("rcv1_vw_small", "reuters21578_usa")
EPSILONS = (0.1, 0.3, 1.0, 3.0, 8.0)
FRESH = 9000  # seeds from here on were not used to find the rule; the two sets were


def line(name: str, epsilon: float, seeds: int) -> str | None:
    """Both maps on one set at one epsilon; None where the set is missing."""
    split = splits.load(name, 0)
    if split is None:
        return None
    found: dict[str, list[tuple[float, float]]] = {"presence": [], "sqrt": []}
    for seed in range(FRESH, FRESH + seeds):
        for row_map, scores in found.items():
            model = ours.estimator(ours.DEFAULT, split, epsilon, seed)
            model.set_params(row_map=row_map, x_bound=1.0).fit(split.train, split.labels)
            said = measures.of_probabilities(
                split.truth, model.predict_proba(split.test), "accuracy"
            )
            scores.append((said["accuracy"], said[measures.LOG_LOSS]))
    signal = split.train.shape[0] * mu_of(epsilon, split.delta)
    accuracy, loss = (statistics.fmean(part) for part in zip(*found["presence"], strict=True))
    more = [
        [root[k] - presence[k] for presence, root in zip(*found.values(), strict=True)]
        for k in range(2)
    ]
    return (
        f"{name:17} {epsilon:7g} {signal:7.0f} {accuracy:9.4f} {loss:9.4f}   "
        f"{_mean(more[0])}   {_mean(more[1])}"
    )


def _mean(values: list[float]) -> str:
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return f"{statistics.fmean(values):+.4f} +-{error:.4f}"


def main() -> None:
    given = study(__doc__, SETS, EPSILONS, 20).parse_args()
    allow_seeds()
    head = (
        f"{'set':17} epsilon  signal  accuracy  log-loss   {'roots: accuracy':>15}   "
        f"{'log-loss':>15}"
    )
    print(head, flush=True)
    table = [f"{machine()}; means of {given.seeds} seeds", head]
    for name in given.sets:
        for epsilon in given.epsilons:
            found = line(name, epsilon, given.seeds)
            if found is not None:
                print(found, flush=True)
                table.append(found)
    save("row_maps", "\n".join(table))


if __name__ == "__main__":
    main()
