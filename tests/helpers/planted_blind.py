"""Slips planted by someone who had not read the checks of the audit.

A bug is a function that takes pytest's monkeypatch. Its docstring says what the colleague thought,
and then what is broken by it. ``BUGS`` says in which fits it shows.
"""

import dataclasses
import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numba import njit
from scipy.special import expit, softmax

from dplasso import audit
from dplasso.data import columns, row_maps
from dplasso.data.columns import ColumnMatrix, norms_of
from dplasso.data.unit_rows import _SAFE, NO_BOUND, UnitRows
from dplasso.estimators import base
from dplasso.federated.plan import FederatedPlan
from dplasso.fitting import frank_wolfe as fit_by_frank_wolfe
from dplasso.fitting import private_bound, sparsifier
from dplasso.fitting.request import RowCount
from dplasso.kernels import descent, noisy_max, stream_steps
from dplasso.kernels.problem import PUSHES
from dplasso.kernels.rivals import big_step_little_step as big_step
from dplasso.kernels.rivals.pushes import step_and_push
from dplasso.losses import SoftmaxLoss, SquaredLoss
from dplasso.losses.encoded import encoded
from dplasso.losses.labels import one_dimensional
from dplasso.mechanisms import private_quantile
from dplasso.mechanisms.counting import double_geometric
from dplasso.mechanisms.grid_gaussian import GridGaussian
from dplasso.mechanisms.noise_key import NoiseKey
from dplasso.mechanisms.selection import lazy_tiers
from dplasso.online import stream_learner
from dplasso.privacy import gaussian
from dplasso.privacy import plan as plans
from dplasso.search import private_search, scoring
from dplasso.solvers.few import solve as choosing
from dplasso.solvers.few.scores import LABEL, ColumnScores
from dplasso.solvers.gradient.plan import ROW_LENGTH, GradientPlan
from dplasso.solvers.gradient.rows import PrivateRows
from dplasso.streams import account
from dplasso.streams.settings import Settings, Span

# Bounds of losses and labels.


def softmax_bound_of_two_classes(monkeypatch):
    """Several classes have the bound of two, which is the same for long rows.

    At weights of 0 a row of K classes moves a score by 1 - 1/K, and noise is for 1/2: factor 4/3
    for three classes.
    """
    monkeypatch.setattr(
        SoftmaxLoss, "gradient_bound", lambda self, radius, x_bound: float(expit(radius * x_bound))
    )


def residual_as_long_as_the_longer(monkeypatch):
    """A residual is as large as the prediction or the label, whichever is larger.

    They may have opposite signs: factor 2 where both bounds are equal.
    """
    monkeypatch.setattr(
        SquaredLoss,
        "gradient_bound",
        lambda self, radius, x_bound: min(max(radius * x_bound, self.y_bound), self.clip),
    )


def labels_cut_above_alone(monkeypatch):
    """Labels are prices: they are cut at the bound, and have no other side.

    One row of label -100 y_bound moves every score a hundred times as far as stated.
    """

    def encode(self, y):
        return np.minimum(one_dimensional(y).astype(np.float64), self.y_bound)

    monkeypatch.setattr(SquaredLoss, "encode", encode)


# Selection.


def empty_columns_not_proposed(monkeypatch):
    """A column without entries cannot help: it is marked as not light, so that nobody draws it.

    One row with an entry there makes a column possible that was impossible: an infinite loss.
    """
    right = lazy_tiers.make_envelope

    def make_envelope(problem, listed, heavy, generator):
        empty = np.flatnonzero(problem.indptr[1:] == problem.indptr[:-1])
        return right(problem, np.union1d(listed, empty), heavy, generator)

    monkeypatch.setattr(lazy_tiers, "make_envelope", make_envelope)


def empty_columns_have_no_tickets(monkeypatch):
    """The same in the standard rule: what has no entries has no score.

    One row with an entry there makes a column possible that was impossible: an infinite loss.
    """
    monkeypatch.setattr(noisy_max, "count_empty", lambda problem, blocks, cells: None)


def columns_without_score_not_drawn(monkeypatch):
    """Columns whose score is exactly 0 are left out of the draw: they are most of them.

    One row makes a score other than 0, and a column possible that was impossible.
    """
    right = choosing._drawn

    def drawn(scores, theta, count, generator):
        told = np.flatnonzero(scores)
        if len(told) <= count:
            return right(scores, theta, count, generator)
        places, signs = right(scores[told], theta, count, generator)
        return told[places], signs

    monkeypatch.setattr(choosing, "_drawn", drawn)


def norms_in_units_of_the_bound(monkeypatch):
    """The norms that a matrix keeps are taken for those of its entries; they are over the bound.

    With a bound above 1 the limit on a heavy score is below the score, and where it is crossed the
    opposite sign has probability 0.
    """
    right = lazy_tiers.heavy_columns

    def heavy_columns(problem, *rest):
        listed = right(problem, *rest)
        if problem.norm1 is None:
            return listed
        return listed._replace(limit=listed.limit / problem.x_bound)

    monkeypatch.setattr(lazy_tiers, "heavy_columns", heavy_columns)


@njit
def _rounds_that_skip_the_last(problem, walk, held, groups, rng, done, until):
    stop = walk.counters[PUSHES] + big_step.PATIENCE
    while done < until and walk.counters[PUSHES] < stop:
        vertex, sign = big_step.draw(problem, walk, held, groups, rng)
        touched = step_and_push(problem, walk, held, vertex, sign, done)
        big_step.patch_touched(problem, walk, held, groups, touched - 1)
        done += 1
    return done


def last_touched_column_not_patched(monkeypatch):
    """The list of touched columns has one place more than it needs, so the last is left out.

    Its flag stays set, and its tickets are never counted again unless its group is: where its score
    grows past them the opposite sign has probability 0, and its own is capped.
    """
    monkeypatch.setattr(big_step, "advance", _rounds_that_skip_the_last)


def words_ahead_drawn_once(monkeypatch):
    """The first 64 words are drawn when the module is first used: it spares a fit some time.

    All fits of a process propose by the same words: their noise is shared.
    """
    right = lazy_tiers.words_ahead
    kept = []

    def words_ahead(generator):
        if not kept:
            kept.append(right(generator))
        return kept[0].copy()

    monkeypatch.setattr(lazy_tiers, "words_ahead", words_ahead)


def weights_scaled_to_fit(monkeypatch):
    """Frank-Wolfe ends too far out or too far in, so the weights are scaled as suits the rows best.

    The factor is a function of the rows, without noise: weights are not those of the vertices.
    """
    right = fit_by_frank_wolfe.frank_wolfe

    def frank_wolfe(X, y, *, loss, **options):
        solution = right(X, y, loss=loss, **options)
        margins, labels = X.sparse() @ solution.weights.T.toarray(), encoded(loss, y)
        factors = np.linspace(0.5, 1.0, 51)
        best = min(factors, key=lambda factor: loss.value(factor * margins, labels))
        return dataclasses.replace(solution, weights=solution.weights * best)

    monkeypatch.setattr(fit_by_frank_wolfe, "frank_wolfe", frank_wolfe)


def count_clipped_after_its_noise(monkeypatch):
    """The count is clipped once, when it is released: clipping twice changes nothing.

    Noise is for a count between the bounds, and a count of all coefficients moves by any number.
    """

    def noisy_count(count, low, high, epsilon, generator):
        noised = count
        if epsilon != math.inf:
            noised += double_geometric(Fraction(epsilon) / (high - low), generator)
        return min(max(noised, low), high)

    monkeypatch.setattr(sparsifier, "noisy_count", noisy_count)


# The bound that is released.


def entries_counted_for_rows(monkeypatch):
    """The quantile is that of the entries, which need not be sorted by rows first.

    A row of k entries moves the losses k times as far as stated.
    """

    def sizes(entries):
        found = np.abs(entries.data.astype(np.float64))
        return found[found > 0.0]

    monkeypatch.setattr(private_bound, "row_medians", sizes)


def losses_as_if_a_row_came_or_went(monkeypatch):
    """A row replaced moves a quantile no more than a row more or less.

    The range is 2, and 1.8 is taken where rows are replaced: 11 % more than is stated.
    """
    monkeypatch.setattr(
        private_quantile,
        "range_of_losses",
        lambda share, neighboring: 2 * max(share, 1 - share),
    )


def entries_not_clipped_to_the_released_bound(monkeypatch):
    """The entries were checked before the bound was released, and need not be looked at again.

    They were checked against no bound: those above the released one are not clipped.
    """
    right = fit_by_frank_wolfe.FrankWolfePlan.prepare

    def prepare(self, X, *rest):
        task = right(self, X, *rest)
        if not self.request.releases_bound:
            return task
        found, bound = ColumnMatrix.of(X, NO_BOUND), task.matrix.x_bound
        if found.values is not None:
            norm1 = norms_of(found.indptr, found.values, bound)
            found = dataclasses.replace(found, norm1=norm1, trusted=True)
        found = dataclasses.replace(found, x_bound=bound, extended=None, trusted=True)
        matrix = found.with_constant() if self.request.fit_intercept else found
        return dataclasses.replace(task, matrix=matrix)

    monkeypatch.setattr(fit_by_frank_wolfe.FrankWolfePlan, "prepare", prepare)


def relation_forgotten_at_the_released_bound(monkeypatch):
    """Once the bound is known theta is what a row makes it; that rows are replaced is forgotten.

    Selections are twice as sharp as stated where rows are replaced and the bound is released.
    """
    right = plans.SelectionPlan.at

    def at(self, x_bound, gradient_bound):
        made = right(dataclasses.replace(self, neighboring="add_remove"), x_bound, gradient_bound)
        return dataclasses.replace(made, neighboring=self.neighboring)

    monkeypatch.setattr(plans.SelectionPlan, "at", at)


# How rows are held.


def constant_of_one(monkeypatch):
    """An intercept is a column of ones.

    With a bound on entries of 1/10 a row moves the intercept's score ten times as far as stated.
    """
    monkeypatch.setattr(ColumnMatrix, "constant", property(lambda self: 1.0))


def repeats_added_after_the_look(monkeypatch):
    """Entries are looked at once; adding up those that are repeated cannot make them worse.

    Two entries of 0.9 for one place are one of 1.8, beyond a bound of 1.
    """
    add, look, known = columns.add_up, columns._inspect, {}

    def add_up(found):
        known["sum"] = add(found)
        return known["sum"]

    def inspect(found, values, x_bound):
        if found is known.pop("sum", None):
            return known["bits"] & ~(columns.kernels.UNORDERED | columns.kernels.ZERO)
        known["bits"] = look(found, values, x_bound)
        return known["bits"]

    monkeypatch.setattr(columns, "add_up", add_up)
    monkeypatch.setattr(columns, "_inspect", inspect)


def rows_keep_their_precision(monkeypatch):
    """Rows in single precision are clipped and mapped in single precision, at half the memory.

    One entry that single precision does not hold makes all rows double, and every other row's
    roots are rounded elsewhere: n rows move a score by n parts in 10^8 more than stated.
    """

    def clipped(X, bound):
        found = row_maps._merged(X) if sp.issparse(X) else np.array(X)
        values = found.data if sp.issparse(X) else found
        kind = np.float32 if values.dtype == np.float32 else np.float64
        values = row_maps.clipped_in_place(values.astype(kind), bound)
        return row_maps._with_values(found, values) if sp.issparse(X) else values

    right = row_maps._of

    def of(values, rows, bound):
        if rows != "sqrt":
            return right(values, rows, bound)
        return np.sign(values) * np.sqrt(np.abs(values))

    monkeypatch.setattr(row_maps, "clipped", clipped)
    monkeypatch.setattr(row_maps, "_of", of)


def ones_stay_ones(monkeypatch):
    """Rows of ones alone have no values to be made whole numbers of.

    One row with another entry makes all others' entries 2^20 in place of 1, in sums whose noise is
    for 2^20: where columns are chosen, that one row decides whether anything is chosen at all.
    """
    right = UnitRows.of

    def of(X, scaling="presence"):
        matrix = X if isinstance(X, ColumnMatrix) else ColumnMatrix.of(X, NO_BOUND)
        rows = right(matrix, scaling)
        if matrix.values is not None or scaling == "presence":
            return rows
        entries = np.bincount(matrix.indices[: matrix.entries], minlength=matrix.shape[0])
        with np.errstate(divide="ignore"):
            units = np.where(entries > 0, _SAFE / np.sqrt(entries), 0.0)
        return dataclasses.replace(rows, values=None, units=units)

    monkeypatch.setattr(UnitRows, "of", of)


def units_in_single_precision(monkeypatch):
    """One number a row, of which half the digits are noise anyway.

    Rows may be longer than 1, by one part in ten million.
    """
    right = UnitRows.of

    def of(X, scaling="presence"):
        rows = right(X, scaling)
        return dataclasses.replace(rows, units=rows.units.astype(np.float32).astype(np.float64))

    monkeypatch.setattr(UnitRows, "of", of)


# Descents and choices.


def row_weights_of_the_first_damping(monkeypatch):
    """Rows are weighed again only where the centre is another.

    Dampings change too, after a third and two thirds of the steps and whenever weights are
    dropped: rows are then longer than stated.
    """
    right = PrivateRows.sums

    def sums(self, conditioning, weights, intercepts):
        known = self._conditioning
        if known is not None and np.array_equal(known.head_centre, conditioning.head_centre):
            self._conditioning = conditioning
        return right(self, conditioning, weights, intercepts)

    monkeypatch.setattr(PrivateRows, "sums", sums)


def residuals_cut_class_by_class(monkeypatch):
    """Residuals are cut as they are for two classes, each at the cut.

    All classes together are then longer than the cut, up to the root of how many there are.
    """
    right = descent.coefficients

    def coefficients(loss, clip, margins, labels, row_weights, constant, first, last, out):
        if len(margins) == 1:
            return right(loss, clip, margins, labels, row_weights, constant, first, last, out)
        own = np.arange(len(margins))[:, None] == labels[first:last]
        residual = softmax(margins[:, first:last], axis=0) - own
        residual = np.clip(residual, -clip, clip) / clip * (1.0 - 1e-12)
        out[:, first:last] = (residual * row_weights[first:last]).astype(np.int64)
        return (residual * constant).astype(np.int64).sum(axis=1)

    monkeypatch.setattr(descent, "coefficients", coefficients)


def intercept_without_noise(monkeypatch):
    """The last sum of a step is that of all rows, which hides each: noise is for the columns.

    A row moves it by 0.3 of its length, exactly.
    """
    sums, add, kept = PrivateRows.sums, GridGaussian.add_to, {}

    def noted(self, *facts):
        found = sums(self, *facts)
        kept[found.size] = found[:, -1].copy()
        return found

    def add_to(self, values, *rest):
        exact = kept.pop(values.size, None)
        add(self, values, *rest)
        if exact is not None:
            values.reshape(len(exact), -1)[:, -1] = exact

    monkeypatch.setattr(PrivateRows, "sums", noted)
    monkeypatch.setattr(GridGaussian, "add_to", add_to)


def constant_not_counted(monkeypatch):
    """Rows have length 1.

    With the constant beside them they have 1.044: noise of the steps is 4.2 % short.
    """
    right = GradientPlan.step_sigma.fget
    monkeypatch.setattr(GradientPlan, "step_sigma", property(lambda plan: right(plan) / ROW_LENGTH))


def two_rows_as_squares(monkeypatch):
    """Of a row replaced, the old and the new one add up as squares do.

    They may point to opposite sides: noise is short by the root of 2.
    """
    monkeypatch.setattr(
        GradientPlan,
        "rows_changed",
        property(lambda plan: 1 if plan.neighboring == "add_remove" else math.sqrt(2.0)),
    )


def textbook_noise(monkeypatch):
    """Noise of sqrt(2 ln(1.25 / delta)) / epsilon is what everybody uses.

    It holds for epsilon below 1: at epsilon 10 and a delta of 1e-6, the delta is 1.9e-6.
    """
    monkeypatch.setattr(
        gaussian,
        "mu_of",
        lambda epsilon, delta: epsilon / math.sqrt(2.0 * math.log(1.25 / delta)),
    )


def rows_as_many_as_there_are(monkeypatch):
    """The declared number of rows is a guess, and the true one is at hand.

    Where rows come and go their number is private: plan and statement tell it.
    """
    right = RowCount.of
    monkeypatch.setattr(
        RowCount,
        "of",
        lambda declared, found, relation: right(declared, found, relation)._replace(value=found),
    )


def scores_as_if_the_centre_were_zero(monkeypatch):
    """A label is at most LABEL, so a row moves a score by that times its largest entry.

    Scores are of labels less their mean: up to a factor of 2 where most labels are alike.
    """
    monkeypatch.setattr(ColumnScores, "longest", lambda self, centre: self.rows.largest * LABEL)


class _FourBytes:
    def __init__(self, generator):
        self._generator = generator

    def bytes(self, length):
        return self._generator.bytes(4) * (length // 4)


def key_of_32_bits(monkeypatch):
    """A seed is 32 bits, as everywhere, repeated to the length that the stream wants.

    Whoever tries 2^32 keys has the noise of a release, and the sum without it.
    """
    right = GridGaussian.add_to
    monkeypatch.setattr(
        GridGaussian,
        "add_to",
        lambda self, values, generator, *rest: right(self, values, _FourBytes(generator), *rest),
    )


def second_fit_not_charged(monkeypatch):
    """An estimator that is fitted again has paid already.

    Another fit is another release, of which the accountant never hears.
    """
    right = base.charge

    def charge(model, *facts):
        return None if hasattr(model, "n_iter_") else right(model, *facts)

    monkeypatch.setattr(base, "charge", charge)


def weights_of_classes_as_given(monkeypatch):
    """A score counts a row by the weight of its class; the largest weight need not be 1.

    Noise is for rows that count 1 at most: a weight of 5 has a fifth of the noise it needs.
    """
    right = scoring.scorer_for

    def scorer_for(model, scoring, weights, multiplier):
        made = right(model, scoring, weights, multiplier)
        whole = np.floor(made.weights * made.most).astype(np.int64)
        return made._replace(weights=whole, most=1.0)

    monkeypatch.setattr(private_search, "scorer_for", scorer_for)


# Streams and federations.


def classes_clipped_one_by_one(monkeypatch):
    """Every class has a gradient of its own, and that is clipped.

    All classes of a row together are longer than the clip, up to the root of how many there are.
    """

    def add_rows(rows, labels, first, last, weights, loss, bits, total, margins):
        starts, places, values = rows
        clip, outputs = loss[2], margins.shape[1]
        width = weights.size // outputs
        for i in range(first, last):
            mine = slice(starts[i], starts[i + 1])
            for k in range(outputs):
                margins[i, k] = weights[k * width + places[mine]] @ values[mine]
                label = float(labels[i] == k) if outputs > 1 else labels[i]
                gradient = (expit(margins[i, k]) - label) * values[mine]
                length = math.sqrt(gradient @ gradient)
                gradient *= min(1.0, clip / length) if length > 0.0 else 0.0
                whole = np.trunc(gradient * (2.0**bits / clip * (1.0 - 2.0**-40)))
                total[k * width + places[mine]] += whole.astype(np.int64)

    monkeypatch.setattr(stream_learner, "_compiled", lambda leader: None)
    monkeypatch.setattr(stream_steps, "add_rows", add_rows)


def window_rounded_down(monkeypatch):
    """A window has as many steps as batches fit into it.

    Of a window of 100 rows in batches of 30, ten rows expire before their time.
    """

    def span(self):
        if self.window is not None:
            return Span(max(1, self.window // self.batch), slides=True)
        return None if self.steps is None else Span(self.steps, slides=False)

    monkeypatch.setattr(Settings, "span", property(span))


def leaves_not_counted(monkeypatch):
    """A tree over 2^k steps has k levels.

    With its leaves it has k + 1, each of which holds the row: noise is short by the root of
    (k + 1) / k.
    """
    right = account.tree_deviation

    def tree_deviation(settings, span):
        short = math.sqrt(max(span.levels - 1, 1) / span.levels)
        return right(settings, span) * short

    monkeypatch.setattr(account, "tree_deviation", tree_deviation)


def one_key_for_all_epochs(monkeypatch):
    """A stream has one key.

    Each epoch of an endless stream begins with the draws of the one before.
    """
    monkeypatch.setattr(NoiseKey, "derived", lambda self, *name: self)


def label_noise_without_the_centre(monkeypatch):
    """Labels are at most their bound, and so is the noise of their sketch.

    They are sketched less their mean: up to a factor of 2 where most labels are alike.
    """
    right = FederatedPlan.label_sketch_noise
    monkeypatch.setattr(FederatedPlan, "label_sketch_noise", lambda self, centre: right(self, 0))


class Bug(NamedTuple):
    """As `planted_bug.Bug`, and of which of the examples."""

    plant: Any
    found_by: tuple[str, ...]
    solver: str = "frank_wolfe"
    options: dict[str, Any] = {}
    example: int = 0

    def estimator(self) -> Any:
        """What to audit."""
        found = audit.example_estimators(self.solver)[self.example]
        return found.set_params(**self.options)


CLASSIFIER, REGRESSOR, THREE_CLASSES = 0, 1, 2
# What no check found when it was planted: `dplasso.audit` did not look there, or not closely.
ONCE_MISSED = (
    "entries counted for rows",
    "losses as if a row came or went",
    "entries not clipped to the released bound",
    "relation forgotten at the released bound",
    "units in single precision",
    "key of 32 bits",
    "second fit not charged",
    "weights of classes as given",
    "label noise without the centre",
)

BUGS = {
    "softmax bound of two classes": Bug(
        softmax_bound_of_two_classes,
        ("accounting", "range", "envelope", "law"),
        options={"radius": 0.5},
        example=THREE_CLASSES,
    ),
    "residual as long as the longer": Bug(
        residual_as_long_as_the_longer,
        ("accounting", "range", "envelope", "law"),
        options={"residual_bound": math.inf, "radius": 1.0},
        example=REGRESSOR,
    ),
    "labels cut above alone": Bug(
        labels_cut_above_alone,
        ("range", "envelope", "law"),
        options={"residual_bound": math.inf},
        example=REGRESSOR,
    ),
    "empty columns not proposed": Bug(empty_columns_not_proposed, ("law",)),
    "empty columns have no tickets": Bug(
        empty_columns_have_no_tickets, ("law",), options={"selection": "noisy_max"}
    ),
    "columns without score not drawn": Bug(
        columns_without_score_not_drawn,
        ("law",),
        solver="select",
        options={"solver": "auto", "n_nonzero": 3},
    ),
    "norms in units of the bound": Bug(
        norms_in_units_of_the_bound, ("envelope",), options={"x_bound": 3.0}
    ),
    "last touched column not patched": Bug(
        last_touched_column_not_patched, ("law",), options={"selection": "big_step_little_step"}
    ),
    "words ahead drawn once": Bug(words_ahead_drawn_once, ("bits", "law", "canary")),
    "weights scaled to fit": Bug(weights_scaled_to_fit, ("release",)),
    "count clipped after its noise": Bug(
        count_clipped_after_its_noise, ("count",), options={"sparsify": sparsifier.Sparsifier()}
    ),
    "entries counted for rows": Bug(
        entries_counted_for_rows, ("bound",), options={"x_bound": "private"}
    ),
    "losses as if a row came or went": Bug(
        losses_as_if_a_row_came_or_went,
        ("bound",),
        options={"x_bound": "private", "neighboring": "replace_one"},
    ),
    "entries not clipped to the released bound": Bug(
        entries_not_clipped_to_the_released_bound, ("bound",), options={"x_bound": "private"}
    ),
    "relation forgotten at the released bound": Bug(
        relation_forgotten_at_the_released_bound,
        ("bound",),
        options={"x_bound": "private", "neighboring": "replace_one"},
    ),
    "constant of one": Bug(
        constant_of_one,
        ("range", "envelope", "release", "representation", "law"),
        options={"x_bound": 0.1},
    ),
    "repeats added after the look": Bug(repeats_added_after_the_look, ("range",)),
    "rows keep their precision": Bug(
        rows_keep_their_precision, ("representation",), options={"rows": "sqrt", "x_bound": 30.0}
    ),
    "ones stay ones": Bug(
        ones_stay_ones,
        ("representation",),
        solver="select",
        options={"solver": "auto", "n_nonzero": 3, "rows": "as_is"},
    ),
    "ones of descents stay ones": Bug(
        ones_stay_ones, ("representation",), solver="gradient", options={"rows": "as_is"}
    ),
    "units in single precision": Bug(
        units_in_single_precision, ("sensitivity",), solver="gradient"
    ),
    "row weights of the first damping": Bug(
        row_weights_of_the_first_damping,
        ("sensitivity",),
        solver="gradient",
        options={"n_nonzero": 5},
    ),
    "residuals cut class by class": Bug(
        residuals_cut_class_by_class,
        ("sensitivity", "release"),
        solver="gradient",
        example=THREE_CLASSES,
    ),
    "intercept without noise": Bug(intercept_without_noise, ("noise",), solver="gradient"),
    "constant not counted": Bug(
        constant_not_counted, ("accounting", "sensitivity", "noise"), solver="gradient"
    ),
    "two rows as squares": Bug(
        two_rows_as_squares,
        ("accounting", "sensitivity", "noise"),
        solver="gradient",
        options={"neighboring": "replace_one"},
    ),
    "textbook noise": Bug(
        textbook_noise, ("accounting",), solver="gradient", options={"epsilon": 10.0}
    ),
    "rows as many as there are": Bug(
        rows_as_many_as_there_are, ("release",), solver="gradient", options={"n_rows": 1000}
    ),
    "scores as if the centre were 0": Bug(
        scores_as_if_the_centre_were_zero,
        ("range",),
        solver="select",
        options={"solver": "auto", "n_nonzero": 3},
    ),
    "key of 32 bits": Bug(key_of_32_bits, ("generator",), solver="gradient"),
    "second fit not charged": Bug(second_fit_not_charged, ("accounting",)),
    "weights of classes as given": Bug(weights_of_classes_as_given, ("search",)),
    "classes clipped one by one": Bug(
        classes_clipped_one_by_one,
        ("sensitivity",),
        solver="online",
        options={"rows": "as_is"},
        example=THREE_CLASSES,
    ),
    "window rounded down": Bug(
        window_rounded_down, ("accounting",), solver="online", options={"window": 100, "batch": 30}
    ),
    "leaves not counted": Bug(
        leaves_not_counted, ("accounting",), solver="online", options={"construction": "tree"}
    ),
    "one key for all epochs": Bug(
        one_key_for_all_epochs,
        ("noise",),
        solver="online",
        options={"window": None, "n_rows": None},
    ),
    "label noise without the centre": Bug(label_noise_without_the_centre, ("parties",)),
}
