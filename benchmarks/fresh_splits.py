"""Goals of tables that are missed or met narrowly, on splits that had no part in any choice.

    python benchmarks/fresh_splits.py [--sets adult,telco_churn] [--epsilons 0.1,1] [--seeds 40]

accuracy.py has ten splits of each table, and the mean over ten splits of a small table moves by
.003 from one ten to the next. Here the default is fitted to others. telco_text has the rows of
telco_churn with the categories as one text, so the two are compared split by split. Prints a table
and saves it as benchmarks/results/fresh_splits.txt.
"""

from comparison import ours, splits
from comparison.sets import SETS, TABLE_EPSILONS
from harness.intervals import interval
from harness.machine import machine
from harness.options import allow_seeds, study
from harness.results import save

NAMES = ("telco_churn", "telco_text", "adult")
FIRST = 5000  # no other study has seeds from here on


def measured(name: str, epsilon: float, seeds: int) -> list[float]:
    """Accuracy of the default on each split."""
    return [
        ours.score(ours.DEFAULT, splits.load(name, seed), "accuracy", epsilon, seed)["accuracy"]
        for seed in range(FIRST, FIRST + seeds)
    ]


def main() -> None:
    given = study(__doc__, NAMES, TABLE_EPSILONS, 40).parse_args()
    allow_seeds()
    lines = ["set             eps  splits  goal   accuracy         less that of the plain table"]
    found: dict[tuple[str, float], list[float]] = {}
    for name in given.sets:
        for epsilon in given.epsilons:
            values = found[name, epsilon] = measured(name, epsilon, given.seeds)
            mean, goal = interval(values), SETS[name].goal(epsilon)
            plain = found.get((SETS[name].plain or "", epsilon))
            less = interval([a - b for a, b in zip(values, plain, strict=True)]) if plain else None
            asked = "-" if goal is None else f"{goal:.3f}"
            lines.append(
                f"{name:<12} {epsilon:>6g} {len(values):>7}  {asked:<6}"
                f" {mean['mean']:.4f} +-{mean['half']:.4f}"
                + (f"  {less['mean']:+.4f} +-{less['half']:.4f}" if less else "")
            )
            print(lines[-1], flush=True)
    lines.append("\n+- half the 95 % interval of the mean over splits. " + machine())
    save("fresh_splits", "\n".join(lines))


if __name__ == "__main__":
    main()
