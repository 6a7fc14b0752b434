"""Frank-Wolfe in plain numpy: its public numbers, and the law of a whole transcript.

Transcripts are arrays, runs x rounds, of *outcomes*: outcome 2v means that vertex v was drawn with
a score of sign +, outcome 2v + 1 with sign -. A vertex is ``column * outputs + class``.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import log_softmax

from dplasso.audit import reference as common
from dplasso.audit.correction import solver_share
from dplasso.base.arrays import Floats, Ints

_CELLS = 2_000_000  # margins held at a time
ROUNDED_WEIGHTS = 2e-13  # most that rounding of exponentials adds to the range per round


@dataclass(frozen=True, kw_only=True)
class SelectionFacts(common.Facts):
    """One configuration of Frank-Wolfe.

    ``stale`` means that row gradients are updated only by steps along a column that the row has.
    """

    rounds: int
    radius: float
    fit_intercept: bool
    count_share: float
    stale: bool
    shown = (*common.Facts.shown, "rounds", "radius", "fit_intercept", "count_share", "theta")

    @property
    def gradient_bound(self) -> float:
        """Largest derivative of a row's loss in one of its margins, anywhere in the ball."""
        reach = self.radius * self.held_bound
        if self.slope is not None:  # losses are convex: slopes are largest at the ends
            ends, labels = np.array([[reach], [-reach]] * 2), np.array([0.0, 0.0, 1.0, 1.0])
            return float(np.abs(self.slope(ends, labels)).max())
        if self.loss == common.LOGISTIC:
            return 1.0 / (1.0 + math.exp(-reach))
        if self.loss == common.SOFTMAX:
            return 1.0 / (1.0 + math.exp(-reach) / (self.outputs - 1))
        return min(reach + self.y_bound, self.residual_bound)

    @property
    def range_of_unit_theta(self) -> float:
        """Range of the log-ratio of a round's laws on two neighbours, at theta = 1."""
        changed = self.rows_changed * self.rows_per_person
        return 2.0 * changed * self.held_bound * self.gradient_bound

    @cached_property
    def theta(self) -> float:
        """The largest theta that the claim allows."""
        share = self.rho * (1.0 - self.count_share) * solver_share(self) / self.rounds
        return (math.sqrt(8.0 * share) - ROUNDED_WEIGHTS) / self.range_of_unit_theta

    @property
    def count_epsilon(self) -> float:
        """The epsilon that the Sparsifier's count may cost."""
        return math.sqrt(2.0 * self.count_share * self.rho)


def held(X: Floats, facts: SelectionFacts) -> Floats:
    """Rows as a fit should hold them, the constant last."""
    rows = common.held_rows(X, facts)
    if facts.fit_intercept:
        rows = np.column_stack([rows, np.full(len(rows), common.limit_of(facts.held_bound))])
    return np.ascontiguousarray(rows)


def gradients(margins: Floats, y: Floats, facts: SelectionFacts) -> Floats:
    """Derivative of the loss of each row in each of its margins: runs x rows x outputs."""
    found = common.loss_gradients(margins, common.held_labels(y, facts), facts)
    bound = facts.residual_bound
    return np.clip(found, -bound, bound) if facts.loss == common.SQUARED else found


def log_laws(table: common.Table, transcripts: Ints, facts: SelectionFacts) -> Iterator[Floats]:
    """Per round, the log-probabilities of all outcomes given each run's earlier rounds."""
    shares = common.row_shares(table, facts)
    rows, y, copies = common.distinct_rows(held(table.X, facts), table.y, shares)
    weighted, outputs, runs = rows * copies[:, None], facts.outputs, len(transcripts)
    margins = np.zeros((runs, len(rows), outputs))
    q = gradients(margins, y, facts)
    for t in range(transcripts.shape[1]):
        alpha = np.einsum("nd,rnk->rdk", weighted, q, optimize=True).reshape(runs, -1)
        signed = facts.theta * np.stack([alpha, -alpha], axis=2).reshape(runs, -1)
        yield log_softmax(signed, axis=1)
        vertex, negative = transcripts[:, t] // 2, transcripts[:, t] % 2
        column, label = vertex // outputs, vertex % outputs
        eta = 2.0 / (t + 3.0)
        margins *= 1.0 - eta
        entries = rows.T[column]
        margins[np.arange(runs), :, label] += (
            eta * facts.radius * np.where(negative, 1.0, -1.0)[:, None] * entries
        )
        fresh = gradients(margins, y, facts)
        q = np.where(entries[:, :, None] != 0.0, fresh, q) if facts.stale else fresh


def parts(transcripts: Ints, X: Floats, facts: SelectionFacts) -> Iterator[Ints]:
    """Runs in parts that fit into memory."""
    size = max(1, _CELLS // (len(np.unique(X, axis=0)) * facts.outputs))
    for first in range(0, len(transcripts), size):
        yield transcripts[first : first + size]


def log_likelihoods(table: common.Table, transcripts: Ints, facts: SelectionFacts) -> Floats:
    """The log-probability of every run."""
    totals = []
    for part in parts(transcripts, table.X, facts):
        total = np.zeros(len(part))
        for t, law in enumerate(log_laws(table, part, facts)):
            total += law[np.arange(len(part)), part[:, t]]
        totals.append(total)
    return np.concatenate(totals)


def weights_of(transcript: Ints, columns: int, facts: SelectionFacts) -> Floats:
    """The weights that the vertices of one run sum to: columns x outputs, on the scaled columns.

    A step t of 2 / (t + 3) is shrunk by all later ones, to 2 (t + 2) / ((T + 1) (T + 2)) after T.
    """
    done, weights = len(transcript), np.zeros(columns * facts.outputs)
    kept = 2.0 * (np.arange(done) + 2.0) / ((done + 1.0) * (done + 2.0))
    signs = np.where(transcript % 2, 1.0, -1.0)
    np.add.at(weights, transcript // 2, signs * kept * facts.radius)
    return weights.reshape(columns, facts.outputs)
