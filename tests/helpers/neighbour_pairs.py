"""Random pairs of neighbouring data sets, and the exact effect of one row on each sum.

The row in which two neighbours differ may decide how all others are stored: as ones without values,
in single or in double precision. The neighbours are passed as different kinds of matrices.
"""

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from dplasso.data import ColumnBounds, ColumnMatrix
from dplasso.data.row_maps import row_view
from dplasso.data.row_medians import entries_of, row_medians
from dplasso.data.table_cells import table_cells
from dplasso.data.unit_rows import UnitRows
from dplasso.data.wide_cells import WideCells
from dplasso.estimators.online_rows import RowForm
from dplasso.federated.columns import Columns
from dplasso.federated.plan import ENTRY
from dplasso.fitting.gradient import held_matrix
from dplasso.kernels import scores as score_kernels
from dplasso.kernels import steps, stream_steps
from dplasso.losses import LogisticLoss, Loss, SoftmaxLoss, SquaredLoss
from dplasso.losses.encoded import EncodedLabels
from dplasso.solvers.correction import MarginRows, plan_correction, without_own
from dplasso.solvers.correction.plan import SPREADS
from dplasso.solvers.correction.walk import Place
from dplasso.solvers.few import ColumnScores, plan_few
from dplasso.solvers.few.plan import GRAINS, LABEL
from dplasso.solvers.gradient import plan_descent
from dplasso.solvers.gradient.conditioning import Conditioning
from dplasso.solvers.gradient.plan import ROW_LENGTH
from dplasso.solvers.gradient.rows import PrivateRows
from dplasso.solvers.table import plan_table
from dplasso.solvers.table.plan import CELL
from dplasso.solvers.table.questions import (
    CellSums,
    GradientSums,
    LabelSums,
    MeanSums,
    Position,
    PresenceSums,
    Products,
    Question,
    ResidualSize,
    SpreadSums,
    Standard,
)
from dplasso.solvers.table.rows import PrivateTable
from dplasso.streams.whole_rows import WholeRows
from storages import FORMS, KINDS, fits

LOSSES: dict[str, Loss] = {
    "logistic": LogisticLoss(),
    "softmax": SoftmaxLoss(classes=(0, 1, 2)),
    "squared": SquaredLoss(y_bound=2.0),
    "huber": SquaredLoss(y_bound=5.0, residual_bound=0.5),
}
BOUNDS = (0.1, 1.1, 2.7, 1 / 3, 1e-40, 1e40, 1.0, 1e-3, 1e6)
MAPS = ("as_is", "presence", "sqrt", "blend")
STREAM_BITS = 30
FORM_NAMES = tuple(FORMS)
HARD = np.array(
    [0.1, -0.1, 1 / 3, 3.0, -1.0, 1e-30, 1e30, 2.0**24 + 1, 1e-300, 5e-324, 1e-46, 1e300, 1.7e308]
)


class Neighbours(NamedTuple):
    """Two data sets that differ in one row, or in one person, who is added, removed or replaced.

    Rows of people have weights, which add up to at most ``rows_per_person`` for one of them.
    """

    one: tuple[Any, np.ndarray]
    other: tuple[Any, np.ndarray]
    changed: int
    shape: tuple[int, int]
    weights: tuple[np.ndarray | None, np.ndarray | None] = (None, None)
    rows_per_person: int = 1

    @property
    def rows_changed(self) -> int:
        return self.changed * self.rows_per_person

    @property
    def both(self) -> list[tuple[Any, np.ndarray, np.ndarray | None]]:
        return [(*self.one, self.weights[0]), (*self.other, self.weights[1])]


def numbers_of(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """Rows of one style: ones, small whole numbers, single or double precision, hard cases."""
    present = rng.random((rows, columns)) < rng.choice([0.2, 0.6, 1.0])
    style = rng.integers(6)
    if style == 0:
        found = np.ones((rows, columns))
    elif style == 1:
        found = rng.integers(-3, 4, (rows, columns)).astype(np.float64)
    elif style == 2:
        found = rng.normal(size=(rows, columns)).astype(np.float32).astype(np.float64)
    elif style == 3:
        found = rng.normal(size=(rows, columns))
    elif style == 4:
        found = rng.choice(HARD, (rows, columns))
    else:
        exponents = rng.uniform(-300, 300, (rows, columns))
        found = rng.normal(size=(rows, columns)) * 10.0**exponents
    return found * present


def labels_of(rng: np.random.Generator, loss: str, rows: int) -> np.ndarray:
    if loss in ("logistic", "softmax"):
        return rng.integers(0, 2 if loss == "logistic" else 3, rows)
    return rng.choice([-1e9, -2.0, -0.1, 0.0, 0.3, 2.0, 1e300], rows)


def kept_as(rng: np.random.Generator, X: np.ndarray) -> Any:
    """The rows in some kind of matrix that holds them exactly."""
    form = FORM_NAMES[rng.integers(len(FORM_NAMES))]
    if "repeats" in form and np.any((X != 0) & (np.abs(X) < 1e-290)):
        form = "csr"  # parts of these would not add up to them
    form = "csc" if form == "dia" and len(X) > 100 else form  # scipy warns of so many diagonals
    kind = KINDS[rng.integers(len(KINDS))]
    sparse = form not in ("dense", "fortran")
    if (kind is np.float16 and sparse) or not fits(X, kind):
        kind = np.float32 if fits(X, np.float32) else np.float64
    return FORMS[form](X.astype(kind))


def neighbours(rng: np.random.Generator, loss: str) -> Neighbours:
    """A random pair."""
    rows, columns = int(rng.integers(1, 7)), int(rng.integers(1, 9))
    X, y = numbers_of(rng, rows, columns), labels_of(rng, loss, rows)
    more, label = numbers_of(rng, 1, columns), labels_of(rng, loss, 1)
    place = int(rng.integers(rows + 1))
    replaced = bool(rng.random() < 0.3) and place < rows
    rest = place + replaced
    other = np.vstack([X[:place], more, X[rest:]])
    labels = np.concatenate([y[:place], label, y[rest:]])
    changed = 2 if replaced else 1
    pair = (kept_as(rng, X), y), (kept_as(rng, other), labels)
    return Neighbours(*pair, changed, (rows, columns))


def _bounds(rng: np.random.Generator, columns: int) -> ColumnBounds:
    if rng.random() < 0.2:
        return ColumnBounds.of(rng.choice(BOUNDS[:4], columns), columns)
    return ColumnBounds.of(float(rng.choice(BOUNDS)), columns)


def _square(change: np.ndarray) -> int:
    return sum(int(number) ** 2 for number in change.ravel())


def _plan(loss: Loss, columns: int, rows: int) -> Any:
    return plan_descent(loss, epsilon=1.0, delta=1e-6, n_rows=rows, n_columns=columns)


def gradient_sums(rng: np.random.Generator, name: str, pair: Neighbours) -> Fraction:
    """Masses, and gradient sums at public weights, dampings and centres."""
    loss, (rows, columns) = LOSSES[name], pair.shape
    plan, bounds = _plan(loss, columns, rows), _bounds(rng, columns)
    which = MAPS[rng.integers(4)]
    damping = rng.choice([1e-3, 0.3, 1.0, 64.0, 1e9], columns)
    centre = rng.normal(size=columns) * (rng.random(columns) < 0.5)
    weights = rng.normal(size=(plan.outputs, columns)) * rng.choice([0.0, 1.0, 1e4, 1e15])
    intercepts = rng.normal(size=plan.outputs)
    threads = int(rng.integers(1, 4))
    found = []
    for X, y, own in pair.both:
        private = PrivateRows(
            UnitRows.of(*held_matrix(X, which, bounds)), loss.encode(y), loss, plan, threads, own
        )
        conditioning = Conditioning.of(damping, centre.copy())
        found.append((private.mass(), private.sums(conditioning, weights, intercepts)))
    unit = 2**plan.unit_bits * pair.rows_changed
    mass = Fraction(_square(found[1][0] - found[0][0]), unit**2)
    charged = (Fraction(ROW_LENGTH) * unit) ** 2
    return max(mass, _square(found[1][1] - found[0][1]) / charged)


def few_scores(rng: np.random.Generator, name: str, pair: Neighbours) -> Fraction:
    """The scores that choose columns, and the sum of labels."""
    name = "logistic" if name == "softmax" else name
    loss, (rows, columns) = LOSSES[name], pair.shape
    bounds, which = _bounds(rng, columns), MAPS[rng.integers(4)]
    plan = plan_few(loss, epsilon=1.0, delta=1e-6, n_rows=rows, n_chosen=1)
    centre = int(rng.integers(-LABEL, LABEL + 1))
    found = []
    for X, y, own in pair.both:
        unit = UnitRows.of(*held_matrix(X, which, bounds))
        y = np.minimum(y, 1) if name == "logistic" else y
        scores = ColumnScores.of(unit, EncodedLabels(loss.encode(y), own), loss, plan)
        found.append((scores.of_centre(centre, 1), scores.label_sum(), scores.longest(centre)))
    (one, sums, longest), (other, more, same) = found
    assert longest == same
    most = pair.rows_changed
    label = Fraction(abs(int(more[0] - sums[0])), LABEL * GRAINS * most)
    return max(label, Fraction(int(np.abs(other - one).max()), longest * most))


def selection_scores(rng: np.random.Generator, name: str, pair: Neighbours) -> Fraction:
    """Scores of all vertices after some public vertices, in grains of the most a row may add."""
    solver = sys.modules["dplasso.solvers.frank_wolfe"]  # the package has a function of that name
    loss, (_, columns) = LOSSES[name], pair.shape
    bounds, which = _bounds(rng, columns), MAPS[rng.integers(4)]
    reach = float(rng.choice([0.1, 3.0, 1e4]))
    rounds = 4
    vertices = rng.integers(0, (columns + 1) * loss.outputs, rounds)
    signs = rng.choice([-1, 1], rounds)
    found = []
    for X, y, own in pair.both:
        seen, bound = row_view(X, which, bounds)
        matrix = ColumnMatrix.of(bound.apply(seen), bound.largest).with_constant()
        radius = reach / bound.largest
        problem = solver.problem_of(matrix, loss.encode(y), loss, radius, 1e-9 / reach, 0.0, own)
        walk = solver.empty_walk(problem, rounds)
        for t in range(rounds):
            steps.release(problem, walk, vertices[t], signs[t], 2.0 / (t + 3.0), t)
        found.append(_grains(problem, walk))
    change = max(abs(int(b) - int(a)) for a, b in zip(*found, strict=True))
    return Fraction(change, 2**36 * pair.rows_changed)


def _grains(problem: Any, walk: Any) -> list[int]:
    buffer, found = np.empty(score_kernels.BUFFER), []
    for column in range(len(problem.indptr) - 1):
        start, stop = np.int64(problem.indptr[column]), np.int64(problem.indptr[column + 1])
        for label in range(problem.classes):
            scale = walk.scalars[0]
            found.append(
                int(
                    score_kernels.grains(
                        problem, walk.margins, scale, start, stop, np.int64(label), buffer
                    )
                )
            )
    return found


def stream_sums(rng: np.random.Generator, name: str, pair: Neighbours) -> Fraction:
    """Contributions of rows of a stream to its sum, at public weights."""
    name = "logistic" if name == "softmax" else name
    loss, (_, columns) = LOSSES[name], pair.shape
    form = RowForm(columns, unit=bool(rng.random() < 0.5), intercept=bool(rng.random() < 0.5))
    clip = float(rng.choice([0.1, 1.0, 2.7]))
    weights = rng.normal(size=form.width) * rng.choice([0.0, 1.0, 1e6])
    found = []
    for X, y in (pair.one, pair.other):
        y = np.minimum(y, 1) if name == "logistic" else y
        rows, total = form.of_matrix(X), np.zeros(form.width, np.int64)
        law = (loss.compiled(), clip)
        margins = np.empty((len(y), 1))
        labels = loss.encode(y)
        given = (0, len(y), weights, law, STREAM_BITS, total, margins)
        stream_steps.add_rows(rows, labels, *given)
        found.append(total)
    change = _square(found[1] - found[0])
    return Fraction(change, (2**STREAM_BITS * pair.rows_changed) ** 2)


def whole_rows(rng: np.random.Generator, name: str, pair: Neighbours) -> Fraction:
    """Rows as they enter a running sum: only the row that differs may change."""
    columns, sensitivity = pair.shape[1], float(rng.choice([1e-3, 1.0, 2.7, 1e40]))
    found = []
    for X, y in (pair.one, pair.other):
        total = np.zeros(columns, np.int64)
        given = X if sp.issparse(X) else np.asarray(X, np.float64)
        for where, whole in WholeRows(columns, sensitivity, STREAM_BITS, len(y), "clip").of(given):
            total[where] += whole
        found.append(total)
    return Fraction(_square(found[1] - found[0]), (2**STREAM_BITS * pair.rows_changed) ** 2)


def medians(rng: np.random.Generator, name: str, pair: Neighbours) -> Fraction:
    """The numbers, one per row, whose quantile is a private bound."""
    counts: dict[float, int] = {}
    for sign, (X, _) in ((-1, pair.one), (1, pair.other)):
        for number in row_medians(entries_of(X)):
            counts[number] = counts.get(number, 0) + sign
    gone = sum(-count for count in counts.values() if count < 0)
    come = sum(count for count in counts.values() if count > 0)
    return Fraction(max(gone, come) if pair.changed == 2 else gone + come)


def party_entries(rng: np.random.Generator, name: str, pair: Neighbours) -> Fraction:
    """Sums of a party's columns: the charge is for an entry at its bound."""
    x_bound, columns = float(rng.choice(BOUNDS)), pair.shape[1]
    sums = []
    for X, _ in (pair.one, pair.other):
        party = Columns(X, x_bound, 1.0)
        sums.append(np.array([party.column(j).sum() for j in range(columns)]))
    change = int(np.abs(sums[1] - sums[0]).max())
    return Fraction(change, ENTRY * pair.rows_changed)


def table_sums(rng: np.random.Generator, name: str, pair: Neighbours) -> Fraction:
    """Answers to every question that a fit to a table asks, at public models and lengths."""
    loss, all_columns = LOSSES[name], pair.shape[1]
    neighboring = "replace_one" if pair.changed == 2 else "add_remove"
    n_wide = int(rng.integers(all_columns)) * int(rng.integers(2))
    narrow, wide = np.split(np.arange(all_columns), [all_columns - n_wide])
    public = {"epsilon": 1.0, "delta": 1e-6, "n_rows": 10**6, "n_columns": len(narrow)}
    people = {
        "rows_per_person": pair.rows_per_person,
        "counts_weights": pair.rows_per_person > 1,
    }
    plan = plan_table(loss, **public, n_wide=n_wide, neighboring=neighboring, **people)
    taken = tuple(np.flatnonzero(rng.random(n_wide) < 0.5)[: plan.most_taken].tolist())
    columns = len(narrow) + len(taken)
    bounds, which = _bounds(rng, all_columns), MAPS[rng.integers(4)]
    lengths = [int(length) for length in rng.integers(CELL // 4, CELL * math.isqrt(columns) + 1, 2)]
    centres = rng.integers(0, CELL + 1, columns + 1)
    standard = Standard(centres[:-1], rng.choice([1e-9, 1e-7, 1e-5, 1.0, 1e9], columns), taken)
    weights = rng.normal(size=(plan.outputs, columns)) * rng.choice([0.0, 1.0, 1e4, 1e15])
    cut = float(rng.choice([0.1, 0.4, 2.0]))
    at = Position(standard, weights, rng.normal(size=plan.outputs), cut)
    asked: list[tuple[Question, float]] = [
        (CellSums(taken), plan.cell_multiplier),
        (MeanSums(int(centres[-1]), lengths[0], taken), plan.mean_multiplier),
        (SpreadSums(centres[:-1], lengths[1], taken), plan.spread_multiplier),
        (LabelSums(), plan.label_multiplier),
        (Products(standard), plan.product_multiplier),
        (GradientSums(at), plan.step_multiplier),
    ]
    if plan.has_wide:
        asked.insert(0, (PresenceSums(), plan.presence_multiplier))
    if plan.pace.of_numbers:
        asked.append((ResidualSize(at), plan.scale_multiplier))
    tables, labels = [], [loss.encode(y) for _, y, _ in pair.both]
    for (X, _, own), encoded in zip(pair.both, labels, strict=True):
        seen, held = row_view(X, which, bounds)
        cells, threads = table_cells(seen, held, narrow), int(rng.integers(1, 4))
        beside = WideCells.of(seen, held, wide) if n_wide else None
        tables.append(PrivateTable(cells, encoded, loss, plan, threads, beside, own))
    shares = []
    for question, multiplier in asked:
        one, other = (table.answer(question) for table in tables)
        noise = [sigma for count, sigma in question.noise(plan) for _ in range(count)]
        change = [int(b) - int(a) for a, b in zip(one, other, strict=True)]
        moved = sum((Fraction(c) / Fraction(s)) ** 2 for c, s in zip(change, noise, strict=True))
        shares.append(moved * Fraction(multiplier) ** 2)
    correction = plan_correction(
        loss,
        mu=1.0,
        n_rows=10**6,
        neighboring=neighboring,
        known_scale=True,
        rows_per_person=pair.rows_per_person,
    )
    if correction is not None:
        limit, spread = rng.choice([0.01, 4.0, 1e3]), rng.choice([0.05, 0.8, 3.0])
        place = Place(rng.normal(), limit, spread, rng.normal(size=plan.outputs))
        all_of_it = zip(tables, labels, pair.both, strict=True)
        rows = [MarginRows(t.margins(at), y, 2, own) for t, y, (*_, own) in all_of_it]
        counts, sums = [one.counts(limit) for one in rows], [one.sums(place) for one in rows]
        for (one, other), sigma, multiplier in (
            (counts, correction.count_sigma, correction.count_multiplier),
            (sums, correction.step_sigma, correction.step_multiplier),
        ):
            square = sum((int(b) - int(a)) ** 2 for a, b in zip(one, other, strict=True))
            shares.append(Fraction(square) * (Fraction(multiplier) / Fraction(sigma)) ** 2)
    return max(shares)


def correction_sums(rng: np.random.Generator, name: str, pair: Neighbours) -> Fraction:
    """Counts, slopes and sums from which probabilities are corrected, at public models."""
    name = name if name == "softmax" else "logistic"
    loss, (_, columns) = LOSSES[name], pair.shape
    neighboring = "replace_one" if pair.changed == 2 else "add_remove"
    people = {"rows_per_person": pair.rows_per_person}
    plan = plan_correction(loss, mu=1.0, n_rows=10, neighboring=neighboring, **people)
    weights = rng.normal(size=(columns, loss.outputs)) * rng.choice([0.0, 1.0, 1e4])
    at = Place(float(rng.normal()), 3.0, float(rng.uniform(0.1, 9)), rng.normal(size=loss.outputs))
    asked = [("counts", (1.5,), plan.count_sigma, plan.count_multiplier)]
    asked.append(("sums", (at,), plan.step_sigma, plan.step_multiplier))
    if loss.outputs > 1:
        spreads = rng.uniform(0.1, 9.0, SPREADS)
        asked.append(("slopes", (3.0, spreads), plan.slope_sigma, plan.step_multiplier))
    held, added = [], float(rng.choice([0.0, 0.5, 1e9]))
    for X, y, own in pair.both:
        dense = X.toarray() if sp.issparse(X) else np.asarray(X)
        rows = np.clip(dense.astype(np.float64), -1.0, 1.0)
        # By loops: a library's product would depend on the number of rows.
        margins = np.array([[sum(row * column) for row in rows] for column in weights.T])
        labels = loss.encode(y if name == "softmax" else (np.asarray(y) > 0).astype(int))
        margins = without_own(margins, labels, added)
        held.append(MarginRows(margins, labels, int(rng.integers(1, 4)), own))
    shares = []
    for what, facts, sigma, multiplier in asked:
        one, other = (getattr(rows, what)(*facts) for rows in held)
        shares.append(_square(other - one) * (Fraction(multiplier) / Fraction(sigma)) ** 2)
    return max(shares)


CHECKS: dict[str, Callable[[np.random.Generator, str, Neighbours], Fraction]] = {
    "gradient sums": gradient_sums,
    "few scores": few_scores,
    "selection scores": selection_scores,
    "stream sums": stream_sums,
    "whole rows of a stream": whole_rows,
    "row medians": medians,
    "entries of a party": party_entries,
    "table sums": table_sums,
    "correction sums": correction_sums,
}


_SQUARES = (
    "gradient sums",
    "stream sums",
    "table sums",
    "correction sums",
)  # whose shares are of squared lengths


def share_of(
    check: str,
    seed: int,
    number: int,
    pair_of: Callable[[np.random.Generator, str], Neighbours] = neighbours,
) -> float:
    """The change between one pair of neighbours divided by the charge; above 1 is a violation."""
    rng = np.random.default_rng((seed, number))
    loss = sorted(LOSSES)[rng.integers(len(LOSSES))]
    pair = pair_of(rng, loss)
    share = CHECKS[check](rng, loss, pair)
    assert share <= 1, f"{check} breached by pair {number} of seed {seed}: {float(share):.17g}"
    return math.sqrt(share) if check in _SQUARES else float(share)
