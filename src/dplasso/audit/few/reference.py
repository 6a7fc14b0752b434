"""A choice of columns in plain numpy: its public numbers, and the law of the drawn columns.

*Outcome* j is column j drawn with sign +; outcome j plus the number of columns has sign -.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax

from dplasso.audit.correction import solver_share
from dplasso.audit.descent.reference import DescentFacts
from dplasso.audit.reference import Table, held_labels, held_rows, row_shares
from dplasso.base.arrays import Floats, Ints

CHOICE_SHARE, CENTRE_SHARE = 0.5, 0.05  # of rho, and of that part


@dataclass(frozen=True, kw_only=True)
class FewFacts(DescentFacts):
    """One configuration that chooses ``chosen`` columns first.

    Gaussian releases are the sum of the labels (their bound is a length of 1), the mass, and steps.
    """

    chosen: int
    shown = (*DescentFacts.shown, "rho", "draw_epsilon")

    def sensitivity(self, release: int) -> float:
        """Sensitivity of a Gaussian release, in lengths of 1."""
        labels = float(self.rows_changed * self.rows_per_person)
        return labels if release == 0 else super().sensitivity(release - 1)

    @property
    def draw_epsilon(self) -> float:
        """The largest range of log-ratios that the claim allows per draw."""
        share = CHOICE_SHARE * (1.0 - CENTRE_SHARE) * solver_share(self) / self.chosen
        return math.sqrt(8.0 * share * self.rho)

    def theta(self, centre: float) -> float:
        """The largest theta that this allows, for scores of entries and labels of size 1.

        Labels are 1 + |centre| away from the centre at most, and either sign may be drawn.
        """
        changed = self.rows_changed * self.rows_per_person
        return self.draw_epsilon / (2.0 * changed * (1.0 + abs(centre)))


class Scores:
    """Scores of rows in units of their largest entry, with labels from -1 to 1."""

    def __init__(self, table: Table, facts: FewFacts) -> None:
        rows = held_rows(table.X, facts)
        largest = np.abs(rows).max(axis=1, keepdims=True)
        entries = np.divide(rows, largest, out=np.zeros_like(rows), where=largest > 0.0)
        held, shares = held_labels(table.y, facts), row_shares(table, facts)
        labels = shares * (2.0 * held - 1.0 if facts.classes else held / facts.y_bound)
        self.label_sum, self._facts = float(labels.sum()), facts
        # A score is one sum minus the centre times another: rows are read once for all centres.
        self._with_labels, self._alone = labels @ entries, shares @ entries

    def log_laws(self, centres: Floats, columns: int) -> Floats:
        """Log-probabilities of all outcomes of a first draw: runs x outcomes.

        ``columns`` is their number in all; those that the rows do not have are empty.
        """
        scores = np.zeros((len(centres), columns))
        scores[:, : len(self._alone)] = self._with_labels - centres[:, None] * self._alone
        theta = np.array([self._facts.theta(centre) for centre in centres])
        signed = theta[:, None] * np.concatenate([scores, -scores], axis=1)
        return log_softmax(signed, axis=1)


def centres_of(released: Floats, unit: float, facts: FewFacts) -> Floats:
    """Centres of the labels, from their released sums; ``unit`` stands for the bound."""
    return np.clip((released + 0.5) / (unit * facts.n_rows), -1.0, 1.0)


def without(law: Floats, drawn: Ints) -> Floats:
    """The law of the next draw, without the columns drawn before."""
    left, columns, runs = law.copy(), law.shape[1] // 2, np.arange(len(law))
    for sign in (0, columns):
        left[runs, drawn % columns + sign] = -np.inf
    return log_softmax(left, axis=1)


def log_likelihoods(law: Floats, drawn: Ints) -> Floats:
    """The log-probability of every run's draws, runs x draws, given the law of the first."""
    total = np.zeros(len(law))
    for outcomes in drawn.T:
        total += law[np.arange(len(law)), outcomes]
        law = without(law, outcomes)
    return total
