"""Scores of long columns, computed from cohorts of rows with equal margins."""

import numpy as np

from dplasso.base.arrays import Ints
from dplasso.kernels import cohorts as kernels
from dplasso.kernels.problem import Problem, Walk

# With more cohorts than these, and than this share of the rows, summing over cohorts is not much
# cheaper than summing over rows; and the same for strays.
MOST_COHORTS, MOST_SHARE = 1 << 13, 1 / 16
# Rows of a released column become strays if it has no more entries than this share of the rows.
SHORT = 1 / 512
# Columns with at least this share of the rows are scored by cohorts, which they split.
LONG = 0.3


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
        mark = self._marked(column, done)
        if mark is None:
            return None
        return float(kernels.score_of_mark(self.problem, self.walk, self.cohorts, mark))

    def rows_of(self, column: int, done: int) -> tuple[Ints, Ints] | None:
        """Rows that stand for all rows of a column, and for how many each; None likewise."""
        mark = self._marked(column, done)
        if mark is None:
            return None
        rows, sizes = kernels.marked(self.cohorts, mark)
        return rows, sizes

    def _marked(self, column: int, done: int) -> int | None:
        """The mark of a column, once cohorts are split by all columns released so far."""
        indptr, rows = self.problem.indptr, len(self.problem.labels)
        if not self.worth_it or indptr[column + 1] - indptr[column] < LONG * rows:
            return None
        if self.cohorts is None:
            self.cohorts = self._by_label()
        self._keep_up(done)
        if column not in self.marks and len(self.marks) < kernels.MARKS:
            self._mark(column)
        return self.marks.get(column) if self.worth_it else None

    def _keep_up(self, done: int) -> None:
        """Split the cohorts by the columns released since the last call."""
        released = set(self.walk.vertices[self.done : done].tolist()) - self.known
        self.known |= released
        self.done = done
        if released:
            columns = np.array(sorted(released))
            self.worth_it = kernels.split_by_all(
                self.problem, self.cohorts, columns, int(SHORT * len(self.problem.labels))
            )

    def _mark(self, column: int) -> None:
        mark = self.marks[column] = len(self.marks)
        if self.worth_it:
            self.worth_it = kernels.split(self.problem, self.cohorts, column, mark)

    def _by_label(self) -> kernels.Cohorts:
        rows = len(self.problem.labels)
        most = max(MOST_COHORTS, int(MOST_SHARE * rows))
        cohorts = kernels.Cohorts(
            rows=np.empty(rows, np.int32),
            place=np.empty(rows, np.int32),
            cohort=np.empty(rows, np.int32),
            first=np.zeros(most, np.int64),
            size=np.zeros(most, np.int64),
            marks=np.zeros(most, np.int64),
            split_off=np.zeros(most, np.int64),
            met=np.zeros(most, np.int64),
            strays=np.empty(int(MOST_SHARE * rows), np.int32),
            stray_marks=np.empty(int(MOST_SHARE * rows), np.int64),
            count=np.zeros(2, np.int64),
        )
        kernels.by_label(self.problem, cohorts)
        return cohorts
