"""Scores of long columns, computed from cohorts of rows with equal margins."""

import numpy as np

from dplasso.kernels import cohorts as kernels
from dplasso.kernels.problem import Problem, Walk

# With more cohorts than this, summing over cohorts is not much cheaper than summing over rows.
MOST_COHORTS = 1 << 13


class AlikeRows:
    """Cohorts of rows with equal margins (``kernels.cohorts``), split by the released columns.

    The cohorts are built for the first score, and no longer used once there are too many.
    Labels and entries must be 0 and 1, and rows have no weights: other data would have too many
    cohorts.
    """

    def __init__(self, problem: Problem, walk: Walk) -> None:
        self.problem, self.walk = problem, walk
        alike = problem.values is None and problem.weights.size == 0
        self.worth_it = problem.two_labels and alike
        self.cohorts: kernels.Cohorts | None = None
        self.marks: dict[int, int] = {}
        self.known: set[int] = set()
        self.done = 0

    def score(self, column: int, done: int) -> float | None:
        """Score of a column after ``done`` rounds; None if summing over rows is cheaper."""
        if not self.worth_it:
            return None
        if self.cohorts is None:
            self.cohorts = self._by_label()
        self._keep_up(done)
        if column not in self.marks and len(self.marks) < kernels.MARKS:
            self._mark(column)
        if not self.worth_it or column not in self.marks:
            return None
        return float(
            kernels.score_of_mark(self.problem, self.walk, self.cohorts, self.marks[column])
        )

    def _keep_up(self, done: int) -> None:
        """Split the cohorts by the columns released since the last call."""
        released = set(self.walk.vertices[self.done : done].tolist()) - self.known
        self.known |= released
        self.done = done
        if released:
            columns = np.array(sorted(released))
            self.worth_it = kernels.split_by_all(self.problem, self.cohorts, columns)

    def _mark(self, column: int) -> None:
        mark = self.marks[column] = len(self.marks)
        if self.worth_it:
            self.worth_it = kernels.split(self.problem, self.cohorts, column, mark)

    def _by_label(self) -> kernels.Cohorts:
        rows, most = len(self.problem.labels), MOST_COHORTS
        cohorts = kernels.Cohorts(
            rows=np.empty(rows, np.int32),
            place=np.empty(rows, np.int32),
            cohort=np.empty(rows, np.int32),
            first=np.zeros(most, np.int64),
            size=np.zeros(most, np.int64),
            marks=np.zeros(most, np.int64),
            split_off=np.zeros(most, np.int64),
            met=np.zeros(most, np.int64),
            count=np.zeros(1, np.int64),
        )
        kernels.by_label(self.problem, cohorts)
        return cohorts
