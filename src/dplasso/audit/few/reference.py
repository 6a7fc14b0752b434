"""The law of drawn columns in plain numpy, with which the product's draws are compared.

*Outcome* j is column j drawn with sign +; outcome j plus the number of columns has sign -.
"""

import numpy as np
from scipy.special import log_softmax

from dplasso.audit.few.facts import FewFacts
from dplasso.audit.reference_rows import held_labels, held_rows
from dplasso.base.arrays import Floats, Ints


class Scores:
    """Scores of rows in units of their largest entry, with labels from -1 to 1."""

    def __init__(self, X: Floats, y: Floats, facts: FewFacts) -> None:
        rows = held_rows(X, facts)
        largest = np.abs(rows).max(axis=1, keepdims=True)
        entries = np.divide(rows, largest, out=np.zeros_like(rows), where=largest > 0.0)
        held = held_labels(y, facts)
        labels = 2.0 * held - 1.0 if facts.classes else held / facts.y_bound
        self.label_sum, self._facts = float(labels.sum()), facts
        # A score is one sum minus the centre times another: rows are read once for all centres.
        self._with_labels, self._alone = labels @ entries, entries.sum(axis=0)

    def log_laws(self, centres: Floats, columns: int) -> Floats:
        """Log-probabilities of all outcomes of a first draw: runs x outcomes.

        ``columns`` is their number in all; those that the rows do not have are empty.
        """
        scores = np.zeros((len(centres), columns))
        scores[:, : len(self._alone)] = self._with_labels - centres[:, None] * self._alone
        theta = np.array([self._facts.theta(centre) for centre in centres])
        signed = theta[:, None] * np.concatenate([scores, -scores], axis=1)
        found: Floats = log_softmax(signed, axis=1)
        return found


def centres_of(released: Floats, unit: float, facts: FewFacts) -> Floats:
    """Centres of the labels, from their released sums; ``unit`` stands for the bound."""
    centres: Floats = np.clip((released + 0.5) / (unit * facts.n_rows), -1.0, 1.0)
    return centres


def without(law: Floats, drawn: Ints) -> Floats:
    """The law of the next draw, without the columns drawn before."""
    left, columns, runs = law.copy(), law.shape[1] // 2, np.arange(len(law))
    for sign in (0, columns):
        left[runs, drawn % columns + sign] = -np.inf
    found: Floats = log_softmax(left, axis=1)
    return found


def log_likelihoods(law: Floats, drawn: Ints) -> Floats:
    """The log-probability of every run's draws, runs x draws, given the law of the first."""
    total = np.zeros(len(law))
    for outcomes in drawn.T:
        total += law[np.arange(len(law)), outcomes]
        law = without(law, outcomes)
    return total
