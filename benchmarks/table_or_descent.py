"""Where a table of two classes pays: the table solver against the descent, by noise.

    python benchmarks/table_or_descent.py [--sets a9a,phishing] [--epsilons 0.1,0.3] [--seeds 6]

*noise* is that of the columns' products, in units of a column's variance (`reach_of` in the plan of
a table); it is what ``solver="auto"`` goes by. Below it stand accuracy and log-loss by the table
solver, and how much more the descent has of either, with standard errors over seeds. *bounds* says
whether all columns share one bound or have ranges of their own.

For every set whose columns share one bound, the limit of the noise is picked that is most accurate
on all other such sets, and judged on this one. Prints a table and saves it as
benchmarks/results/table_or_descent.txt.
"""

import math
import statistics
from typing import NamedTuple

from comparison import ours, splits
from harness import measures
from harness.machine import machine
from harness.options import allow_seeds, study
from harness.results import save

from dplasso.privacy.gaussian import mu_of
from dplasso.solvers.table.plan import reach_of

SETS = ("splice", "mushrooms", "phishing", "a9a", "adult", "telco_churn")
EPSILONS = (0.1, 0.2, 0.4, 0.8)
LIMITS = (2.0, 3.0, 5.0, 7.0, 10.0, 13.0)
LEAST, MOST = 1.0, 20.0  # noise beyond which there is nothing to choose
FRESH = 5000  # seeds from here on were not used to find the limit


class Cell(NamedTuple):
    """One set at one epsilon: mean scores by the table solver, and the descent's less these."""

    name: str
    epsilon: float
    shared: bool
    noise: float
    accuracy: float
    log_loss: float
    gains: list[float]
    more_loss: list[float]

    def lost(self, limit: float) -> float:
        """Accuracy that a limit loses against the better of both solvers."""
        gain = statistics.fmean(self.gains)
        return max(gain, 0.0) if self.noise <= limit else max(-gain, 0.0)


def cell(name: str, epsilon: float, seeds: int) -> Cell | None:
    """The scores of both solvers; None where the set is missing or there is nothing to choose."""
    first = splits.load(name, FRESH)
    if first is None:
        return None
    rows, columns = first.train.shape
    noise = reach_of(rows * mu_of(epsilon, first.delta), columns)
    if not LEAST <= noise <= MOST:
        return None
    found: dict[str, list[tuple[float, float]]] = {"table": [], "gradient": []}
    for seed in range(FRESH, FRESH + seeds):
        split = splits.load(name, seed)
        assert split is not None
        for solver, scores in found.items():
            model = ours.estimator(ours.DEFAULT, split, epsilon, seed).set_params(solver=solver)
            model.fit(split.train, split.labels)
            said = measures.of_probabilities(
                split.truth, model.predict_proba(split.test), "accuracy"
            )
            scores.append((said["accuracy"], said[measures.LOG_LOSS]))
    pairs = list(zip(found["table"], found["gradient"], strict=True))
    return Cell(
        name,
        epsilon,
        not isinstance(first.declared.get("x_bound", 1.0), list),
        noise,
        statistics.fmean(table[0] for table, _ in pairs),
        statistics.fmean(table[1] for table, _ in pairs),
        [descent[0] - table[0] for table, descent in pairs],
        [descent[1] - table[1] for table, descent in pairs],
    )


def line(found: Cell) -> str:
    bounds = "shared" if found.shared else "own"
    return (
        f"{found.name:12} {found.epsilon:7g} {bounds:>7} {found.noise:6.1f} "
        f"{found.accuracy:9.4f} {found.log_loss:9.4f}   {_mean(found.gains)}   "
        f"{_mean(found.more_loss)}"
    )


def _mean(values: list[float]) -> str:
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return f"{statistics.fmean(values):+.4f} +-{error:.4f}"


def judged(cells: list[Cell]) -> list[str]:
    """The limit that the other sets pick for each set, and what it loses there."""
    cells = [each for each in cells if each.shared]
    found = []
    for name in dict.fromkeys(each.name for each in cells):
        own = [each for each in cells if each.name == name]
        others = [each for each in cells if each.name != name]
        if not others:
            continue
        limit = min(LIMITS, key=lambda limit: sum(each.lost(limit) for each in others))
        lost = {at: statistics.fmean(each.lost(at) for each in own) for at in (limit, max(LIMITS))}
        found.append(
            f"{name:12} the others pick the limit {limit:g}, which loses {lost[limit]:.4f} here; "
            f"the limit {max(LIMITS):g} loses {lost[max(LIMITS)]:.4f}"
        )
    return found


def main() -> None:
    given = study(__doc__, SETS, EPSILONS, 6).parse_args()
    allow_seeds()
    head = (
        f"{'set':12} epsilon  bounds  noise  accuracy  log-loss   "
        f"{'descent: accuracy':>17}   {'log-loss':>17}"
    )
    print(head, flush=True)
    cells, table = [], [f"{machine()}; means of {given.seeds} seeds", head]
    for name in given.sets:
        for epsilon in given.epsilons:
            found = cell(name, epsilon, given.seeds)
            if found is not None:
                cells.append(found)
                table.append(line(found))
                print(table[-1], flush=True)
    ends = judged(cells)
    print("\n".join(ends))
    save("table_or_descent", "\n".join([*table, *ends]))


if __name__ == "__main__":
    main()
