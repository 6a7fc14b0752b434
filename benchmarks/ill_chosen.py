"""Bounds and other facts that are chosen badly: our answers next to the trivial answer.

    python benchmarks/ill_chosen.py [--cases "wide bounds,few rows"] [--epsilons 0.1,1,4]
        [--seeds 10] [--large]

Saves ill_chosen.txt and ill_chosen.json under benchmarks/results. Rows are generated, 10,000 to
train on unless a case says otherwise and 10,000 to test on, anew for every seed. delta is 1 / n^2.
The trivial answer is the mean of the training rows, or their shares of classes; the non-private
model is that of scikit-learn. ``--large`` adds 5,000,000 rows of 50 dense columns with one seed: it
takes 8 GB of memory and minutes.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from comparison import ours
from comparison.ours import DEFAULT
from comparison.references import REFERENCES, TRIVIAL, reference, trivial
from comparison.splits import Split, of_table
from comparison.table import aligned
from harness.intervals import interval
from harness.machine import machine
from harness.measures import sign
from harness.options import allow_seeds, names, numbers, parser
from harness.results import RESULTS, save
from harness.tables import Range, Table

EPSILONS = (0.1, 1.0, 4.0)
ROWS = TESTED = 10_000
FEW, MANY = 50, 5_000_000
COLUMNS, MORE_COLUMNS = 10, 50
WORSE = 0.01  # than the trivial answer, from which on the table says so


class Case(NamedTuple):
    """What is badly chosen, how rows are made, and how many of them are to train on."""

    about: str
    make: Callable[[np.random.Generator], Table]
    n_train: int = ROWS
    is_large: bool = False


def split(table: Table, n_train: int) -> Split:
    """The first rows of a generated table are to train on, the others to test on."""
    return of_table(table, np.arange(n_train), np.arange(n_train, len(table.y)))


def weights(columns: int) -> np.ndarray:
    """The same true weights for all cases, of 2-norm 1."""
    found = np.random.default_rng(0).normal(size=columns)
    return found / np.linalg.norm(found)


def labelled(
    rng: np.random.Generator, X: np.ndarray, classes: bool, *, shift: float = 0.0
) -> np.ndarray:
    """Labels that follow a linear model: numbers within about 2.5, or two classes."""
    margins = X @ weights(X.shape[1])
    if classes:
        return (rng.logistic(size=len(X)) < 4.0 * margins + shift).astype(np.int64)
    return margins + 0.3 * rng.normal(size=len(X))


def table(X: np.ndarray, y: np.ndarray, classes: bool, *, wide: float = 1.0, y_bound=2.5) -> Table:
    """Rows with what is declared of them; columns lie between -1 and 1."""
    ranges: list[Range] = [(-wide, wide)] * X.shape[1]
    return Table("", X, y, ranges, n_classes=2 if classes else 0, y_bound=wide * y_bound)


def plain(
    rng: np.random.Generator,
    *,
    classes: bool,
    rows: int = ROWS,
    columns: int = COLUMNS,
    wide: float = 1.0,
) -> Table:
    X = rng.uniform(-1.0, 1.0, (rows + TESTED, columns))
    return table(X, labelled(rng, X, classes), classes, wide=wide)


def constant_column(rng: np.random.Generator, *, classes: bool) -> Table:
    X = rng.uniform(-1.0, 1.0, (ROWS + TESTED, COLUMNS))
    X[:, 0] = 0.7
    return table(X, labelled(rng, X, classes), classes)


def deciding_column(rng: np.random.Generator, *, classes: bool) -> Table:
    X = rng.uniform(-1.0, 1.0, (ROWS + TESTED, COLUMNS))
    y = (X[:, 0] > 0.0).astype(np.int64) if classes else X[:, 0].copy()
    return table(X, y, classes, y_bound=1.0)


def unbalanced(rng: np.random.Generator) -> Table:
    X = rng.uniform(-1.0, 1.0, (ROWS + TESTED, COLUMNS))
    return table(X, labelled(rng, X, True, shift=-9.3), True)


def heavy_tailed(rng: np.random.Generator, *, y_bound: float) -> Table:
    """Student's law with 1.5 degrees of freedom around a linear model, cut to ``y_bound``."""
    X = rng.uniform(-1.0, 1.0, (ROWS + TESTED, COLUMNS))
    y = X @ weights(COLUMNS) + 0.3 * rng.standard_t(1.5, size=len(X))
    return table(X, np.clip(y, -y_bound, y_bound), False, y_bound=y_bound)


def cases() -> dict[str, Case]:
    found = {}
    for kind, classes in (("numbers", False), ("classes", True)):
        made = partial(plain, classes=classes)
        many = partial(made, rows=MANY, columns=MORE_COLUMNS)
        found |= {
            f"well chosen, {kind}": Case("true ranges, to compare with", made),
            f"wide bounds, {kind}": Case(
                "all declared ranges ten times too wide", partial(made, wide=10.0)
            ),
            f"constant column, {kind}": Case(
                "one of ten columns is constant", partial(constant_column, classes=classes)
            ),
            f"deciding column, {kind}": Case(
                "one of ten columns decides the label", partial(deciding_column, classes=classes)
            ),
            f"few rows, {kind}": Case("50 training rows", partial(made, rows=FEW), FEW),
            f"large, {kind}": Case("5,000,000 rows of 50 columns", many, MANY, is_large=True),
        }
    found["unbalanced, classes"] = Case("99.9 % of the labels are of one class", unbalanced)
    for bound in (3.0, 100.0):
        found[f"heavy tail {bound:g}, numbers"] = Case(
            f"labels without a variance, declared within {bound:g} and cut to it",
            partial(heavy_tailed, y_bound=bound),
        )
    return found


CASES = cases()
LEGEND = f"""\
trivial      mean of the training rows, or their shares of classes, for every row
non-private  LinearRegression or LogisticRegression of scikit-learn on standardised columns
ours         the default, declared facts only: mean over the seeds, +- half the 95 % interval of
             the mean, and the worst seed
verdict      better or worse than the trivial answer by more than {WORSE:g}, or as good
seconds      of a fit with its predictions, the median
Labels of a heavy tail are cut to y_bound to judge them too. Rows are new for every seed."""


def options() -> argparse.Namespace:
    command = parser(__doc__)
    command.add_argument("--cases", type=names, help="beginnings of their names, with commas")
    command.add_argument("--epsilons", type=numbers, default=list(EPSILONS), help="with commas")
    command.add_argument("--seeds", type=int, default=10)
    command.add_argument("--large", action="store_true", help="5,000,000 rows too")
    command.add_argument("--results", type=Path, default=RESULTS)
    chosen = command.parse_args()
    if chosen.seeds < 1:
        command.error("--seeds must be at least 1")
    for start in chosen.cases or ():
        if not any(name.startswith(start) for name in CASES):
            command.error(f"--cases: no case begins with {start!r}; there are {'; '.join(CASES)}")
    return chosen


def main() -> None:
    chosen = options()
    allow_seeds()
    rows: list[dict[str, Any]] = []
    for name, case in CASES.items():
        wanted = chosen.cases is None or any(name.startswith(start) for start in chosen.cases)
        if wanted and (chosen.large or not case.is_large):
            rows += run(name, case, chosen)
            print(text(rows[-1:]).splitlines()[1], flush=True)
    said = f"{text(rows)}\n\n{summary(rows)}\n\n{LEGEND}\n{machine()}"
    print(f"\n{said}")
    data = {"machine": machine(), "summary": summary(rows), "rows": rows}
    save("ill_chosen", said, data, folder=chosen.results)


def run(name: str, case: Case, chosen: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A row for every measure and epsilon."""
    references: list[dict[str, dict[str, float]]] = []
    found: dict[float, list[tuple[dict[str, float], float]]] = {e: [] for e in chosen.epsilons}
    for seed in range(1 if case.is_large else chosen.seeds):
        rng = np.random.default_rng((seed, *name.encode()))
        rows = split(case.make(rng), case.n_train)
        success = "accuracy" if rows.n_classes else "R2"
        kinds = (TRIVIAL,) if case.is_large else REFERENCES
        references.append({kind: _reference(kind, rows, success) for kind in kinds})
        for epsilon in chosen.epsilons:
            start = time.perf_counter()
            value = ours.score(DEFAULT, rows, success, epsilon, seed)
            found[epsilon].append((value, time.perf_counter() - start))
    for measure in references[0]["trivial"]:
        for epsilon, fits in found.items():
            values = [value[measure] for value, _ in fits]
            trivial = statistics.fmean(each["trivial"][measure] for each in references)
            other = [each["non-private"][measure] for each in references if "non-private" in each]
            mine = interval(values)
            yield {
                "case": name,
                "about": case.about,
                "measure": measure,
                "epsilon": epsilon,
                "trivial": trivial,
                "non-private": statistics.fmean(other) if other else None,
                "ours": mine,
                "worst": min(values, key=lambda value: sign(measure) * value),
                "verdict": verdict(sign(measure) * (mine["mean"] - trivial)),
                "seconds": statistics.median(seconds for _, seconds in fits),
            }


def _reference(kind: str, rows: Split, success: str) -> dict[str, float]:
    """A reference; the trivial answer where scikit-learn has no model, with labels of one class."""
    one_class = rows.n_classes and len(np.unique(rows.labels)) < 2
    return trivial(rows, success) if one_class else reference(kind, rows, success)


def verdict(difference: float) -> str:
    if difference > WORSE:
        return "better"
    return "as good" if difference >= -WORSE else "WORSE"


def summary(rows: list[dict[str, Any]]) -> str:
    worse = [
        f"{row['case']} ({row['measure']}, {row['epsilon']:g})"
        for row in rows
        if row["verdict"] == "WORSE"
    ]
    said = f"worse than the trivial answer by more than {WORSE:g} in {len(worse)} of {len(rows)}"
    return f"{said}: {'; '.join(worse)}" if worse else said


def text(rows: list[dict[str, Any]]) -> str:
    """The table, aligned."""
    head = ["case", "measure", "eps", "trivial", "non-private", "ours", "+-", "worst seed"]
    lines = [[*head, "verdict", "seconds", "what is chosen badly"]]
    for row in rows:
        mine, other = row["ours"], row["non-private"]
        lines.append(
            [
                row["case"],
                row["measure"],
                f"{row['epsilon']:g}",
                f"{row['trivial']:.3f}",
                "-" if other is None else f"{other:.3f}",
                f"{mine['mean']:.3f}",
                f"{mine['half']:.3f}",
                f"{row['worst']:.3f}",
                row["verdict"],
                f"{row['seconds']:.1f}",
                row["about"],
            ]
        )
    return aligned(lines, left={0, 1, 8, 10})


if __name__ == "__main__":
    main()
