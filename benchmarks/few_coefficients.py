"""How few coefficients a wide model needs: the rule of ``n_nonzero="auto"`` against all columns.

    python benchmarks/few_coefficients.py [--sets a,b] [--epsilons 0.1,1,8] [--seeds 20]

Sets with more than 1,000 columns, which are those that the rule cuts. *signal* is the number of
rows times mu, *all* the score with ``n_nonzero=None``, and *kept* what the rule keeps. Then follow
the score with *kept*, and with shares of the columns, less the score of *all* by the same seeds,
and the standard error of that difference. Scores are accuracies, areas under the ROC curve where
labels are very unbalanced, and R2 for numbers (the labels -1 and 1 as numbers). delta is 1/rows^2.
Large sets have fewer seeds. Columns of "hashed" sets are added up in 4,096. ``--sets
20_newsgroups`` is text with 20 classes, of which the rule keeps all; it takes long.

A rule is good on some sets if it loses at most 0.003 there on average, where a gain counts as no
loss, and no cell loses more than 0.003 beyond two standard errors. Of all rules of the same form,
with the constants of ``GRID``, the good one that keeps the smallest share of the columns (geometric
mean) is picked on all sets; and, for every set, on all others, and judged on that set. Scores
between the shares that were measured are interpolated, linearly in the logarithm of the number.

Prints a table and saves it as benchmarks/results/few_coefficients.txt. Every fit is noted in
few_coefficients_cache.jsonl there: a run that was stopped goes on where it was.
"""

import itertools
import math
import statistics
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from comparison.memory import Memory
from comparison.splits import load as load_split
from harness.cases import CASES, Case, bounded, split
from harness.machine import machine
from harness.options import allow_seeds, study
from harness.results import RESULTS, save
from rivals.problem import Request
from sklearn.metrics import r2_score, roc_auc_score

from dplasso import ColumnMatrix, PrivateLassoClassifier, PrivateLassoRegressor
from dplasso.fitting.auto_rules import (
    KEPT_PER_ROOT,
    KEPT_PER_SIGNAL,
    KEPT_SHARE,
    UNSEEN,
    kept_of,
)
from dplasso.privacy.gaussian import mu_of

SHARES = (1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128)
EPSILONS = (0.1, 1.0, 8.0)
LARGEST_MEAN, LARGEST_LOSS = 0.003, 0.003  # on average over cells, and in one of them
ERRORS = 2.0  # standard errors by which a cell must lose more
FRESH = 7000  # seeds from here on were not used to find the rule that went before
NUMBERS = "reuters as numbers"
GROUPS = "20_newsgroups"
HASHED = {"reuters hashed": "reuters21578_usa", "farm_ads hashed": "farm_ads"}
BUCKETS = 4096
SETS = (
    *("rcv1_vw_small", "farm_ads", "sms_spam", "reuters21578_usa", "zipf", NUMBERS, *HASHED),
    *("imdb_uni", "url_subset", "news20_rebuilt"),
)
UNBALANCED = ("sms_spam",)
VARIED, MORE_SEEDS = ("rcv1_vw_small",), 2  # few test rows: more seeds by this factor
MOST_SEEDS = {"zipf": 6, NUMBERS: 6, "imdb_uni": 3, "url_subset": 3, "news20_rebuilt": 4, GROUPS: 2}
KEEP = "keep"  # name of the fits in the cache


class Rule(NamedTuple):
    """The constants of the rule; `kept_of` explains them."""

    per_root: float
    per_signal: float
    share: float
    unseen: float

    def __str__(self) -> str:
        return (
            f"{self.per_root:g} per root of columns, {self.per_signal:g} per signal up to "
            f"1/{1 / self.share:g}, unseen {self.unseen:g}"
        )


PRESENT = Rule(KEPT_PER_ROOT, KEPT_PER_SIGNAL, KEPT_SHARE, UNSEEN)
GRID = ((8.0, 12.0, 16.0, 24.0, 32.0), (2.0, 4.0, 8.0), (1 / 32, 1 / 16, 1 / 8), (20.0, 40.0, 80.0))
RULES = tuple(map(Rule._make, itertools.product(*GRID)))


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


class Difference(NamedTuple):
    """A score less that of all columns: the mean over seeds, and its standard error."""

    mean: float
    error: float

    @property
    def loses(self) -> bool:
        """Whether more is lost than a cell may lose, and not by chance."""
        return -self.mean - ERRORS * self.error > LARGEST_LOSS


class Cell(NamedTuple):
    """One set at one epsilon: the scores of all columns, and by number of weights, less those."""

    name: str
    epsilon: float
    signal: float
    everything: float
    weights: int
    kept: int
    less: dict[int, list[float]]

    def difference(self, count: int) -> Difference:
        """The difference at a number of weights, interpolated where it was not measured."""
        known = sorted(self.less)
        count = min(max(count, known[0]), self.weights)
        above = next(each for each in known if each >= count)
        below = max(each for each in known if each <= count)
        part = 1.0 if above == below else math.log(count / below) / math.log(above / below)
        both = zip(self.less[below], self.less[above], strict=True)
        return difference([low + part * (high - low) for low, high in both])

    def by(self, rule: Rule) -> int:
        """How many weights a rule keeps."""
        return kept_of(self.signal, self.weights, *rule)


def load(name: str) -> Problem | None:
    """The problem; None where its data are not at hand."""
    if name == GROUPS:
        return _groups()
    source = HASHED.get(name, "reuters21578_usa" if name == NUMBERS else name)
    found = split(CASES.get(source, Case(source, None)))
    if found is None:
        return None
    X, labels, new, answers = found
    if name in HASHED:
        X, new = hashed(X), hashed(new)
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


def hashed(X: sp.csr_array) -> sp.csr_array:
    """The same rows, their columns added up in few buckets."""
    found = sp.coo_array(X)
    bucket = np.random.default_rng(0).integers(BUCKETS, size=X.shape[1])
    places = (found.row, bucket[found.col])
    return sp.csr_array((np.abs(found.data), places), shape=(X.shape[0], BUCKETS))


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


def scores(
    problem: Problem, memory: Memory, epsilon: float, n_nonzero: int | None, seeds: int
) -> list[float]:
    """The scores by seed."""
    found = []
    for seed in range(FRESH, FRESH + seeds):
        request = Request(epsilon, {"n_nonzero": n_nonzero}, seed)
        known = memory.get(problem.name, KEEP, request)
        if known is None:
            public = {"epsilon": epsilon, "delta": problem.delta, "n_nonzero": n_nonzero}
            model = problem.make(**public, random_state=seed, n_jobs=1)
            known = {"score": problem.judge(model.fit(problem.train, problem.labels))}
            memory.put(problem.name, KEEP, request, known)
        found.append(known["score"])
    return found


def seeds_of(name: str, seeds: int) -> int:
    if name in VARIED:
        return MORE_SEEDS * seeds
    return min(seeds, MOST_SEEDS.get(name, seeds))


def cell(problem: Problem, memory: Memory, epsilon: float, seeds: int) -> Cell:
    """All scores of one set at one epsilon."""
    seeds = seeds_of(problem.name, seeds)
    rows, columns = problem.train.shape
    plan = problem.make(epsilon=epsilon, delta=problem.delta).plan(rows, columns)
    weights = columns * plan.request.loss.outputs
    kept = weights if plan.n_nonzero.value == "all" else int(plan.n_nonzero.value)
    everything = scores(problem, memory, epsilon, None, seeds)
    less = {weights: [0.0] * seeds}
    for count in {*(round(weights * share) for share in SHARES), kept} - {weights}:
        cut = scores(problem, memory, epsilon, count, seeds)
        less[count] = [one - other for one, other in zip(cut, everything, strict=True)]
    signal = rows * mu_of(epsilon, problem.delta)
    mean = statistics.fmean(everything)
    return Cell(problem.name, epsilon, signal, mean, weights, kept, less)


def difference(apart: list[float]) -> Difference:
    error = statistics.stdev(apart) / math.sqrt(len(apart)) if len(apart) > 1 else 0.0
    return Difference(statistics.fmean(apart), error)


def mean_loss(found: list[Difference]) -> float:
    """The mean loss; a gain counts as no loss."""
    return statistics.fmean(max(0.0, -each.mean) for each in found)


def is_good(found: list[Difference]) -> bool:
    return mean_loss(found) <= LARGEST_MEAN and not any(each.loses for each in found)


def share_kept(cells: list[Cell], rule: Rule) -> float:
    """Geometric mean of the shares of the weights that a rule keeps."""
    return math.exp(statistics.fmean(math.log(each.by(rule) / each.weights) for each in cells))


def picked(cells: list[Cell]) -> Rule | None:
    """The rule that keeps fewest weights of those that are good on these cells."""
    good = [rule for rule in RULES if is_good([each.difference(each.by(rule)) for each in cells])]
    return min(good, key=lambda rule: share_kept(cells, rule), default=None)


def judged(cells: list[Cell]) -> list[str]:
    """The rule that all sets pick, those that all others pick for each set, and what they lose."""
    names = list(dict.fromkeys(each.name for each in cells))
    found, lost = [], []
    for name in (None, *names):
        own = [each for each in cells if name in (None, each.name)]
        rule = picked(cells if name is None else [each for each in cells if each.name != name])
        who = "all sets" if name is None else f"{name}: the others"
        if rule is None:
            found.append(f"{who} pick none: no rule is good")
            continue
        less = [each.difference(each.by(rule)) for each in own]
        lost += [] if name is None else less
        worst = min(less, key=lambda each: each.mean)
        found.append(
            f"{who} pick {rule}: it keeps a share of {share_kept(own, rule):.3f} "
            f"and loses {mean_loss(less):.4f} on average; worst cell {_said(worst)}"
        )
    found.append(
        f"left out, all cells: mean loss {mean_loss(lost):.4f}, "
        f"{sum(each.loses for each in lost)} of {len(lost)} lose more than {LARGEST_LOSS:g}"
    )
    return found


def _said(one: Difference) -> str:
    return f"{one.mean:+7.4f} +-{one.error:.4f}"


def line(found: Cell) -> str:
    counts = [found.kept, *(round(found.weights * share) for share in SHARES)]
    return (
        f"{found.name:18} {found.epsilon:7g} {found.signal:7.0f}  {found.everything:6.3f} "
        f"{found.weights:10,} {found.kept:8,}  "
        + "  ".join(_said(found.difference(count)) for count in counts)
    )


def totals(cells: list[Cell]) -> list[str]:
    """Mean losses and lost cells, for the present rule and for each share."""
    columns = [[each.difference(each.kept) for each in cells]]
    columns += [
        [each.difference(round(each.weights * share)) for each in cells] for share in SHARES
    ]
    means = "  ".join(f"{-mean_loss(column):+16.4f}" for column in columns)
    lost = "  ".join(f"{sum(each.loses for each in column):16}" for column in columns)
    return [f"{'mean, gains as 0':64}{means}", f"{'cells that lose more than 0.003':64}{lost}"]


def main() -> None:
    given = study(__doc__, SETS, EPSILONS, 20).parse_args()
    allow_seeds()
    memory = Memory(RESULTS / "few_coefficients_cache.jsonl")
    shares = "  ".join(f"{f'1/{round(1 / share)}':>16}" for share in SHARES)
    head = (
        f"{'set':18} epsilon  signal     all    weights     kept  {'kept, less all':>16}  {shares}"
    )
    others = {name: seeds_of(name, given.seeds) for name in given.sets}
    said = ", ".join(f"{name} {seeds}" for name, seeds in others.items() if seeds != given.seeds)
    table, cells = [f"{machine()}; means of {given.seeds} seeds; {said}", head], []
    print(head, flush=True)
    for name in given.sets:
        problem = load(name)
        if problem is None:
            table.append(f"{name:18} not at hand")
            continue
        for epsilon in given.epsilons:
            cells.append(cell(problem, memory, epsilon, given.seeds))
            table.append(line(cells[-1]))
            print(table[-1], flush=True)
    ends = [*totals(cells), f"the rule: {PRESENT}", *judged(cells)]
    print("\n".join(ends))
    save("few_coefficients", "\n".join([*table, *ends]))


if __name__ == "__main__":
    main()
