"""Numbers next to wide columns: the table solver against the descent, on texts and categories.

    python benchmarks/numbers_beside_text.py [--sets sms_spam,adult] [--epsilons 1,4] [--seeds 3]

Texts get 4 or 10 made-up numbers beside them: half of these tell the classes apart by a whole
standard deviation, the others by a quarter of one. Tables have all their categories hashed, 4,096
buckets each, beside their own numbers. Figures are means over seeds, which draw noise, the made-up
numbers and the split of a table, and standard deviations over them. *auto* marks the solver that
``solver="auto"`` takes. Prints a table and saves it as benchmarks/results/numbers_beside_text.txt.
"""

import statistics
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from comparison import ours, splits
from comparison.sets import SETS
from comparison.splits import Split
from harness import ROOT, datasets, measures
from harness.machine import machine
from harness.options import allow_seeds, study
from harness.results import save

from dplasso import Schema, read_rows
from dplasso.schema import Category, Hashed

TEXTS, TABLES = ("sms_spam", "reuters21578_usa", "farm_ads"), ("adult", "telco_churn")
NUMBERS, BUCKETS, REACH = (4, 10), 4096, 4.0
SOLVERS = ("gradient", "table")


class Case(NamedTuple):
    """Rows of a set, and how many numbers were made up beside its text."""

    name: str
    numbers: int | None  # None for a table, which has its own


def cases(names: list[str]) -> Iterator[Case]:
    for name in names:
        yield from (Case(name, count) for count in (NUMBERS if name in TEXTS else (None,)))


def loaded(case: Case, seed: int) -> Split | None:
    """The rows of a case for a seed; None where the set is not at hand."""
    if case.numbers is None:
        return hashed_table(case.name, seed)
    split = splits.load(case.name, seed)
    if split is None:
        return None
    rng = np.random.default_rng(seed)
    shifts = np.where(np.arange(case.numbers) % 2, 0.25, 1.0)
    parts = []
    for rows, labels in ((split.train, split.labels), (split.test, split.truth)):
        drawn = rng.normal(size=(len(labels), case.numbers)) + np.outer(labels - 0.5, shifts)
        parts.append(sp.csc_array(sp.hstack([np.clip(drawn, -REACH, REACH), rows])))
    bounds = [(-REACH, REACH)] * case.numbers + [1.0] * split.train.shape[1]
    declared = {**split.declared, "x_bound": bounds}
    return split._replace(train=parts[0], test=parts[1], declared=declared)


def hashed_table(name: str, seed: int) -> Split | None:
    """A table with all categories hashed, split anew for every seed."""
    path = datasets.folder() / "tables" / f"{name}.csv.gz"
    if not path.is_file():
        return None
    schema = Schema.from_toml(ROOT / "docs" / "tutorials" / "schemas" / f"{name}.toml")
    columns = {
        column: Hashed(BUCKETS) if isinstance(role, Category) else role
        for column, role in schema.columns.items()
    }
    rows = read_rows(path, schema=replace(schema, columns=columns))
    assert rows.classes is not None and rows.y is not None
    labels = np.searchsorted(np.sort(rows.classes), rows.y.astype(str))
    held = np.random.default_rng(seed).random(len(labels)) < 0.2
    parts = (rows.X[~held], labels[~held], rows.X[held], labels[held])
    delta = float((~held).sum()) ** -2.0
    return Split(*parts, len(rows.classes), delta, {"x_bound": rows.bounds})


def scores(case: Case, epsilon: float, seeds: int) -> dict[str, list[float]] | None:
    """The scores of both solvers, and which of them is the default."""
    measure = SETS[case.name].measure
    found: dict[str, list[float]] = {solver: [] for solver in SOLVERS}
    for seed in range(1, seeds + 1):
        split = loaded(case, seed)
        if split is None:
            return None
        for solver, so_far in found.items():
            model = ours.estimator(ours.DEFAULT, split, epsilon, seed).set_params(solver=solver)
            model.fit(split.train, split.labels)
            said = measures.of_probabilities(split.truth, model.predict_proba(split.test), measure)
            so_far.append(said[measure])
    return found


def default_solver(case: Case, epsilon: float) -> str:
    split = loaded(case, 1)
    assert split is not None
    plan = ours.estimator(ours.DEFAULT, split, epsilon, 1).plan(*split.train.shape)
    return str(plan.solver)


def main() -> None:
    given = study(__doc__, (*TEXTS, *TABLES), (0.3, 1.0, 4.0), 3).parse_args()
    allow_seeds()
    lines = [
        f"{machine()}; means of {given.seeds} seeds; accuracy, AUC of sms_spam; delta = 1 / n^2",
        f"{'set':18} numbers  epsilon  {'gradient':>13}  {'table':>13}  auto",
    ]
    print("\n".join(lines), flush=True)
    for case in cases(given.sets):
        for epsilon in given.epsilons:
            found = scores(case, epsilon, given.seeds)
            if found is None:
                continue
            cells = "  ".join(
                f"{statistics.fmean(own):6.3f} +-{statistics.pstdev(own):.3f}"
                for own in found.values()
            )
            beside = "its own" if case.numbers is None else f"{case.numbers:7}"
            told = default_solver(case, epsilon)
            lines.append(f"{case.name:18} {beside}  {epsilon:7g}  {cells}  {told}")
            print(lines[-1], flush=True)
            save("numbers_beside_text", "\n".join([*lines, "", *__doc__.splitlines()[4:9]]))


if __name__ == "__main__":
    main()
