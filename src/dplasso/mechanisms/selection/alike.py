"""Scores of long columns at the cost of telling apart the rows that differ."""

import numpy as np

from dplasso.kernels import cohorts as kernels
from dplasso.kernels.problem import LOGISTIC, Problem, Walk

# With more cohorts than this, telling them apart is no longer much cheaper than adding up rows.
MOST_COHORTS = 1 << 13


class AlikeRows:
    """Cohorts of rows with equal margins (``kernels.cohorts``), kept up with the released columns.

    Nothing is done before the first score is asked for, and nothing any more once there are too
    many cohorts. Labels of other losses are too various, entries other than 0 and 1 likewise.
    """

    def __init__(self, problem: Problem, walk: Walk) -> None:
        self.problem, self.walk = problem, walk
        self.worth_it = problem.loss == LOGISTIC and problem.values is None
        self.cohorts: kernels.Cohorts | None = None
        self.marks: dict[int, int] = {}
        self.known: set[int] = set()
        self.done = 0

    def score(self, column: int, done: int) -> float | None:
        """Score of a column after ``done`` rounds; None if rows are better added up one by one."""
        if not self.worth_it:
            return None
        if self.cohorts is None:
            self.cohorts = self._by_label()
        if column not in self.marks and len(self.marks) < kernels.MARKS:
            self._split(column, len(self.marks))
            self.marks[column] = len(self.marks)
        for released in set(self.walk.vertices[self.done : done].tolist()) - self.known:
            self._split(released, -1)
        self.done = done
        if not self.worth_it or column not in self.marks:
            return None
        return float(
            kernels.score_of_mark(self.problem, self.walk, self.cohorts, self.marks[column])
        )

    def _by_label(self) -> kernels.Cohorts:
        lists = [np.empty(len(self.problem.labels), np.int32) for _ in range(3)]
        each = [np.zeros(MOST_COHORTS, np.int64) for _ in range(4)]
        cohorts = kernels.Cohorts(*lists, *each, np.zeros(1, np.int64))
        kernels.by_label(self.problem, cohorts)
        return cohorts

    def _split(self, column: int, mark: int) -> None:
        self.known.add(column)
        if self.worth_it:
            self.worth_it = kernels.split(self.problem, self.cohorts, column, mark)
