"""Where the time of the lazy rule goes: set-up by part, rounds by what they do.

    python benchmarks/breakdown.py [--sets zipf,reuters21578_usa] [--epsilons 1,0.1]

*moves* is the replay of the released vertices; *long* the scores of long columns, from cohorts of
rows or on all cores; *scores* the entries evaluated otherwise, at what an entry costs in a score of
a column about as long as theirs; *rest* is what remains of the rounds: draws, bounds, and columns
that had to come from memory. Entries are counted whether or not cohorts stand for them.
Medians over seeds, milliseconds. The rivals' times stand in results/selection.txt.
"""

import statistics

import numpy as np
from harness import datasets
from harness.machine import machine, timed
from harness.options import study
from harness.results import save
from harness.walks import DELTA, RADIUS, ROUNDS, solver, time_replay
from numba import njit

import dplasso
from dplasso.data import ColumnMatrix
from dplasso.kernels.problem import ENTRIES, EVALUATIONS, PROPOSALS, SCALE
from dplasso.kernels.scores import BUFFER, score
from dplasso.mechanisms.random_bits import random_bits
from dplasso.mechanisms.selection import PRIVATE

SETS = ("url_subset", "reuters21578_usa", "zipf")
PARTS = ("labels", "set-up", "moves", "long", "scores", "rest", "weights", "total")


def one_run(matrix: ColumnMatrix, y: np.ndarray, theta: float, seed: int) -> dict[str, float]:
    loss, bits = dplasso.LogisticLoss(), random_bits(seed)
    labels, encoding = timed(lambda: loss.encode(y))
    problem = solver.problem_of(matrix, labels, loss, RADIUS, theta, 0.0)
    walk = solver.empty_walk(problem, ROUNDS)
    rule, setup = timed(lambda: PRIVATE["lazy"](problem, walk, bits.generator, 2))
    long = Long(rule)
    _, rounds = timed(lambda: rule.advance(ROUNDS))
    _, weights = timed(lambda: solver._solution(problem, walk, matrix.shape[1], False))
    counts = walk.counters
    moves = time_replay(problem, walk)
    entries = int(counts[ENTRIES]) - long.entries
    scores = entries * entry_cost(rule, entries / max(int(counts[EVALUATIONS]) - long.asked, 1))
    seconds = {
        "labels": encoding,
        "set-up": setup,
        "moves": moves,
        "long": long.spent,
        "scores": scores,
        "rest": rounds - moves - long.spent - scores,
        "weights": weights,
        "total": encoding + setup + rounds + weights,
    }
    return {
        **{part: 1e3 * value for part, value in seconds.items()},
        "proposals a round": counts[PROPOSALS] / ROUNDS,
        "scores a round": counts[EVALUATIONS] / ROUNDS,
        "entries a round": counts[ENTRIES] / ROUNDS,
    }


class Long:
    """Listens to a rule's scores of long columns."""

    def __init__(self, rule) -> None:
        self.lengths, self.score = np.diff(rule.problem.indptr), rule._score
        self.spent, self.entries, self.asked = 0.0, 0, 0
        rule._score = self.listen

    def listen(self, vertex: int) -> float:
        found, spent = timed(lambda: self.score(vertex))
        self.spent += spent
        self.entries += int(self.lengths[vertex])
        self.asked += 1
        return found


@njit(cache=True)
def scored(problem, margins, scale, vertex, times):  # type: ignore[no-untyped-def]
    """The same score again and again."""
    buffer, total = np.empty(BUFFER), 0.0
    for _ in range(times):
        total += score(problem, margins, scale, vertex, buffer)
    return total


def entry_cost(rule, typical: float) -> float:
    """Seconds an entry takes in a score of a column with about as many."""
    lengths = np.diff(rule.problem.indptr)
    column = int(np.argmin(np.abs(lengths - max(typical, 1.0))))
    walk, times = rule.walk, max(10, int(1e6 / max(typical, 100.0)))
    state = (rule.problem, walk.margins, walk.scalars[SCALE], column)
    scored(*state, 1)
    _, spent = timed(lambda: scored(*state, times))
    return spent / times / int(lengths[column])


def main() -> None:
    options = study(__doc__, SETS, (1.0, 0.1), seeds=5).parse_args()
    lines = [machine(), f"{'set':<18}{'eps':>5}" + "".join(f"{part:>10}" for part in PARTS)]
    lines[-1] += f"{'proposals':>11}{'scores':>8}{'entries a round':>17}"
    print("\n".join(lines), flush=True)
    rows = []
    for name in options.sets:
        made = name == "zipf"
        found = datasets.text_like(500_000, 5_000_000, 17_000_000) if made else datasets.real(name)
        if found is None:
            print(f"{name}: not at hand")
            continue
        matrix = ColumnMatrix.of(found[0])
        for epsilon in options.epsilons:
            theta = dplasso.calibrate(epsilon, DELTA, ROUNDS)
            one_run(matrix, found[1], theta, 0)  # compiles, and warms what can be warm
            runs = [one_run(matrix, found[1], theta, seed) for seed in range(options.seeds)]
            row = {part: statistics.median(run[part] for run in runs) for part in runs[0]}
            line = f"{name:<18}{epsilon:>5g}" + "".join(f"{row[part]:>10.2f}" for part in PARTS)
            line += f"{row['proposals a round']:>11.2f}{row['scores a round']:>8.2f}"
            lines.append(line + f"{row['entries a round']:>17,.0f}")
            print(lines[-1], flush=True)
            rows.append({"set": name, "epsilon": epsilon, **{k: float(v) for k, v in row.items()}})
    save("breakdown", "\n".join(lines), {"machine": machine(), "rows": rows})


if __name__ == "__main__":
    main()
