"""How few coefficients a wide model needs: the rule of ``n_nonzero="auto"`` against all columns.

    python benchmarks/few_coefficients.py [--sets a,b] [--epsilons 0.1,1,8] [--seeds 3]

Sets with more than 1,000 columns, which are those that the rule cuts. *all* is the score with
``n_nonzero=None``; *kept* is what the rule keeps; below every factor stands the score with that
many times *kept*, less the score of *all*. Scores are accuracies, areas under the ROC curve where
labels are very unbalanced, and R2 for numbers (the labels -1 and 1 as numbers). delta is 1/rows^2.
``--sets 20_newsgroups`` is text with 20 classes, of which the rule keeps all; it takes long.

Every second set belongs to the other half. The smallest factor that loses at most 0.005 on average
is picked on one half and judged on the other. A gain counts as no loss. Prints a table and saves it
as benchmarks/results/few_coefficients.txt.
"""

import statistics
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from comparison.splits import load as load_split
from harness.cases import CASES, Case, bounded, split
from harness.machine import machine
from harness.options import allow_seeds, study
from harness.results import save
from sklearn.metrics import r2_score, roc_auc_score

from dplasso import ColumnMatrix, PrivateLassoClassifier, PrivateLassoRegressor

FACTORS = (1 / 16, 1 / 4, 1.0, 4.0)
EPSILONS = (0.1, 1.0, 8.0)
LARGEST_LOSS = 0.005
FRESH = 5000  # seeds from here on were not used to find the rule
NUMBERS = "reuters as numbers"
GROUPS = "20_newsgroups"
SETS = (
    *("farm_ads", "reuters21578_usa", "imdb_uni", "zipf", "sms_spam", "rcv1_vw_small"),
    *(NUMBERS, "news20_rebuilt"),
)
UNBALANCED = ("sms_spam",)


class Problem(NamedTuple):
    """Rows to train and to test on, an estimator without its budget, and the measure of success."""

    name: str
    train: ColumnMatrix
    labels: np.ndarray
    make: Callable[..., Any]
    judge: Callable[[Any], float]

    @property
    def delta(self) -> float:
        return float(len(self.labels)) ** -2.0


class Cell(NamedTuple):
    """The scores of one set at one epsilon; ``losses`` has one number per factor."""

    name: str
    epsilon: float
    everything: float
    columns: int
    kept: int
    losses: tuple[float, ...]


def load(name: str) -> Problem | None:
    """The problem; None where its data are not at hand."""
    if name == GROUPS:
        return _groups()
    found = split(CASES.get("reuters21578_usa" if name == NUMBERS else name, Case(name, None)))
    if found is None:
        return None
    X, labels, new, answers = found
    train, test = ColumnMatrix.of(bounded(X, None), 1.0), bounded(new, None)
    public = {"n_rows": len(labels), "x_bound": 1.0}
    if name == NUMBERS:
        signs, wanted = 2.0 * labels - 1.0, 2.0 * answers - 1.0
        return Problem(
            name,
            train,
            signs,
            lambda **own: PrivateLassoRegressor(y_bound=1.0, **public, **own),
            lambda model: float(r2_score(wanted, model.predict(test))),
        )

    def judge(model: PrivateLassoClassifier) -> float:
        if name in UNBALANCED:
            return float(roc_auc_score(answers, model.decision_function(test)))
        return float(model.score(test, answers))

    return Problem(
        name,
        train,
        labels,
        lambda **own: PrivateLassoClassifier(classes=[0, 1], **public, **own),
        judge,
    )


def _groups() -> Problem | None:
    rows = load_split(GROUPS, seed=0)
    if rows is None:
        return None
    public = {"classes": list(range(rows.n_classes)), "n_rows": len(rows.labels), "x_bound": 1.0}
    return Problem(
        GROUPS,
        ColumnMatrix.of(rows.train, 1.0),
        rows.labels,
        lambda **own: PrivateLassoClassifier(**public, **own),
        lambda model: float(model.score(rows.test, rows.truth)),
    )


def score(problem: Problem, epsilon: float, n_nonzero: int | None, seeds: int) -> float:
    """The mean score over the seeds."""
    found = []
    for seed in range(FRESH, FRESH + seeds):
        model = problem.make(
            epsilon=epsilon, delta=problem.delta, n_nonzero=n_nonzero, random_state=seed
        )
        found.append(problem.judge(model.fit(problem.train, problem.labels)))
    return statistics.mean(found)


def cell(problem: Problem, epsilon: float, seeds: int) -> Cell:
    """All scores of one set at one epsilon."""
    rows, columns = problem.train.shape
    plan = problem.make(epsilon=epsilon, delta=problem.delta).plan(rows, columns)
    weights = columns * plan.request.loss.outputs
    kept = weights if plan.n_nonzero.value == "all" else int(plan.n_nonzero.value)
    everything = score(problem, epsilon, None, seeds)
    losses = []
    for factor in FACTORS:
        count = max(1, round(kept * factor))
        cut = 0.0 if count >= weights else score(problem, epsilon, count, seeds) - everything
        losses.append(cut)
    return Cell(problem.name, epsilon, everything, weights, kept, tuple(losses))


def line(found: Cell) -> str:
    return (
        f"{found.name:18} {found.epsilon:7g}  {found.everything:6.3f} {found.columns:10,} "
        f"{found.kept:8,}  " + "  ".join(f"{loss:+7.3f}" for loss in found.losses)
    )


def mean_loss(cells: list[Cell], place: int) -> float:
    """The mean loss at a factor; a gain counts as no loss."""
    return statistics.mean(max(0.0, -each.losses[place]) for each in cells)


def judged(cells: list[Cell]) -> list[str]:
    """The factor that each half picks, and what it loses on the other half."""
    names = list(dict.fromkeys(each.name for each in cells))
    halves = [[each for each in cells if names.index(each.name) % 2 == k] for k in range(2)]
    found = []
    for k, own in enumerate(halves):
        other = halves[1 - k]
        if not own or not other:
            continue
        good = [p for p in range(len(FACTORS)) if mean_loss(own, p) <= LARGEST_LOSS]
        picked = good[0] if good else len(FACTORS) - 1
        found.append(
            f"half {k + 1} picks the factor {FACTORS[picked]:g}, loses "
            f"{mean_loss(own, picked):.4f} itself and {mean_loss(other, picked):.4f} on the other"
        )
    return found


def main() -> None:
    given = study(__doc__, SETS, EPSILONS, 3).parse_args()
    allow_seeds()
    factors = "  ".join(f"{f'x {factor:g}':>7}" for factor in FACTORS)
    head = f"{'set':18} epsilon     all    weights     kept  {factors}"
    table, cells = [f"{machine()}; means of {given.seeds} seeds", head], []
    print(head, flush=True)
    for name in given.sets:
        problem = load(name)
        if problem is None:
            table.append(f"{name:18} not at hand")
            continue
        for epsilon in given.epsilons:
            cells.append(cell(problem, epsilon, given.seeds))
            table.append(line(cells[-1]))
            print(table[-1], flush=True)
    means = "  ".join(f"{-mean_loss(cells, place):+7.3f}" for place in range(len(FACTORS)))
    table += [f"{'mean, gains as 0':55}  {means}", *judged(cells)]
    print("\n".join(table[-3:]))
    save("few_coefficients", "\n".join(table))


if __name__ == "__main__":
    main()
