"""The scores by which columns are chosen; the only part that sees data."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dplasso.base import threads as pool
from dplasso.base.arrays import Floats, Ints
from dplasso.data.unit_rows import UnitRows
from dplasso.kernels import residual_sums as kernel
from dplasso.losses import Loss, OneMarginLoss, check_taken
from dplasso.losses.encoded import EncodedLabels, encoded, row_weights
from dplasso.solvers.few.plan import GRAINS, LABEL, LOSSES, FewPlan


@dataclass(frozen=True)
class ColumnScores:
    """Rows and integer labels, with column scores: sums of entry times residual.

    A row's entries are integers in units of its largest entry, so a row's scale does not matter.
    Where rows store no values, residuals are multiplied by what an entry stands for: a term is the
    same whatever other rows are. A
    label is an integer from -LABEL to LABEL; two classes are the two ends.

    Formal guarantees
    -----------------
    Both sums are exact, and a row's term in them is a function of that row, its label and the
    public centre alone.

    - In `label_sum` a row's term is at most LABEL * GRAINS in absolute value.
    - In `of_centre` a row's term is at most `longest` in every column: the largest possible entry
      times the largest possible residual, which are public given the centre.

    The terms of a row of weight w, below 1, are at most w times that: they are multiplied by it and
    rounded towards 0.

    >>> from dplasso.losses import LogisticLoss
    >>> from dplasso.solvers.few.plan import plan_few
    >>> public = dict(epsilon=1.0, delta=1e-6, n_rows=3, n_chosen=1)
    >>> rows, loss = UnitRows.of([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]), LogisticLoss()
    >>> scores = ColumnScores.of(rows, [1, 1, 0], loss, plan_few(loss, **public))
    >>> (scores.of_centre(0) / LABEL).tolist()
    [2.0, 0.0]
    """

    rows: UnitRows
    labels: Ints
    weights: Floats | None = None  # of the rows; None where every row counts fully

    @classmethod
    def of(
        cls, rows: UnitRows, y: ArrayLike | EncodedLabels, loss: Loss, plan: FewPlan
    ) -> "ColumnScores":
        """Check rows and labels against each other and the plan."""
        labels = _whole(loss, y, rows.shape[0])
        if plan.n_chosen > rows.shape[1]:
            raise ValueError(
                f"the plan is to choose {plan.n_chosen} columns, and X has {rows.shape[1]}; plan "
                "for fewer"
            )
        return cls(rows, labels, row_weights(y))

    def label_sum(self) -> Ints:
        """The sum of the labels, in grains; a vector of one."""
        grains = self._weighted((self.labels * GRAINS).astype(np.float64))
        return np.array([int(np.trunc(grains).astype(np.int64).sum())], np.int64)

    def of_centre(self, centre: int, threads: int | None = None) -> Ints:
        """Scores of all columns; residuals are labels minus ``centre``."""
        rows, residuals = self.rows, self._weighted((self.labels - centre).astype(np.float64))
        residuals = residuals * (rows.whole // rows.largest)
        found = np.empty(rows.shape[1], np.int64)
        runs = pool.balanced_runs(rows.indptr, threads or pool.available())
        given = (rows.indptr, rows.indices, rows.values, residuals)
        pool.run(kernel.residual_sums, [(*given, *run, found) for run in runs])
        return found

    def _weighted(self, numbers: Floats) -> Floats:
        return numbers if self.weights is None else numbers * self.weights

    def longest(self, centre: int) -> int:
        """Largest absolute value that a row can add to a score."""
        return self.rows.whole * (LABEL + abs(centre))


def _whole(loss: Loss, y: ArrayLike | EncodedLabels, rows: int) -> Ints:
    """Labels as integers from -LABEL to LABEL."""
    check_taken(loss, LOSSES, "a choice of columns")
    assert isinstance(loss, OneMarginLoss)
    shares = loss.label_shares(encoded(loss, y, rows))
    return np.rint(np.clip(shares, -1.0, 1.0) * LABEL).astype(np.int64)
