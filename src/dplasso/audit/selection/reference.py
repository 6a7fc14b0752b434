"""The law of a whole transcript in plain numpy, with which the product's releases are compared.

Transcripts are arrays, runs x rounds, of *outcomes*: outcome 2v means that vertex v was drawn with
a score of sign +, outcome 2v + 1 with sign -. A vertex is ``column * outputs + class``.
"""

from collections.abc import Iterator
from functools import reduce

import numpy as np
from scipy.special import expit, log_softmax

from dplasso.audit.facts import LOGISTIC, SOFTMAX
from dplasso.audit.reference_rows import held_labels, held_rows, limit_of
from dplasso.audit.selection.facts import SelectionFacts
from dplasso.base.arrays import Floats, Ints

_CELLS = 2_000_000  # margins held at a time


def held(X: Floats, facts: SelectionFacts) -> Floats:
    """Rows as a fit should hold them, the constant last."""
    rows = held_rows(X, facts)
    if facts.fit_intercept:
        rows = np.column_stack([rows, np.full(len(rows), limit_of(facts.held_bound))])
    return np.ascontiguousarray(rows)


def gradients(margins: Floats, y: Floats, facts: SelectionFacts) -> Floats:
    """Derivative of the loss of each row in each of its margins: runs x rows x outputs."""
    found: Floats
    if facts.slope is not None:
        found = facts.slope(margins, y)
    elif facts.loss == LOGISTIC:
        found = expit(margins) - y[:, None]
    elif facts.loss == SOFTMAX:
        found = _softmax(margins)
        found[:, np.arange(len(y)), y.astype(np.int64)] -= 1.0
    else:
        residuals = margins - held_labels(y, facts)[:, None]
        found = np.clip(residuals, -facts.residual_bound, facts.residual_bound)
    return found


def _softmax(margins: Floats) -> Floats:
    """Softmax along the last, short axis: it works by planes, where scipy's goes by entries."""
    largest = reduce(np.maximum, np.moveaxis(margins, -1, 0))
    powers: Floats = np.exp(margins - largest[..., None])
    powers /= reduce(np.add, np.moveaxis(powers, -1, 0))[..., None]
    return powers


def log_laws(X: Floats, y: Floats, transcripts: Ints, facts: SelectionFacts) -> Iterator[Floats]:
    """Per round, the log-probabilities of all outcomes given each run's earlier rounds."""
    rows, y, copies = _distinct(held(X, facts), y)
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


def _distinct(rows: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
    """Distinct rows with labels, and their counts: equal ones have equal gradients."""
    both, copies = np.unique(np.column_stack([rows, y]), axis=0, return_counts=True)
    return np.ascontiguousarray(both[:, :-1]), both[:, -1], copies.astype(np.float64)


def parts(transcripts: Ints, X: Floats, facts: SelectionFacts) -> Iterator[Ints]:
    """Runs in parts that fit into memory."""
    size = max(1, _CELLS // (len(np.unique(X, axis=0)) * facts.outputs))
    for first in range(0, len(transcripts), size):
        yield transcripts[first : first + size]


def log_likelihoods(X: Floats, y: Floats, transcripts: Ints, facts: SelectionFacts) -> Floats:
    """The log-probability of every run."""
    totals = []
    for part in parts(transcripts, X, facts):
        total = np.zeros(len(part))
        for t, law in enumerate(log_laws(X, y, part, facts)):
            total += law[np.arange(len(part)), part[:, t]]
        totals.append(total)
    return np.concatenate(totals)


def weights_of(transcript: Ints, columns: int, facts: SelectionFacts) -> Floats:
    """The weights that the vertices of one run sum to: columns x outputs, on the scaled columns."""
    weights = np.zeros(columns * facts.outputs)
    for t, outcome in enumerate(transcript):
        eta = 2.0 / (t + 3.0)
        weights *= 1.0 - eta
        weights[outcome // 2] += eta * facts.radius * (1.0 if outcome % 2 else -1.0)
    return weights.reshape(columns, facts.outputs)
