"""A table with one split: what rivals are given, and how predictions are judged."""

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any

import numpy as np
import scipy.sparse as sp
from harness import measures
from harness.tables import Table
from rivals.problem import Effort, Request


class TableProblem:
    """The training and test rows of a table for one seed.

    It has what ``rivals.problem.Problem`` has, so that the rivals and the tuning of that package
    work on it. Rows are handed out by the name of a public map of single rows: ``cells`` has all
    entries between 0 and 1, ``centred`` has numbers between -1 and 1. To predict classes every row
    is then brought to length 1. To predict numbers all rows are divided by the largest length that
    a row can have, and labels by their bound.
    """

    maps = ("cells", "centred")
    is_wide = False
    measure = "accuracy"  # of classes

    def __init__(self, table: Table, seed: int) -> None:
        self.table, self.seed, self.name = table, seed, table.name
        self.train, self.test = table.halves(seed)
        labels = table.y if table.n_classes else np.clip(table.y / table.y_bound, -1.0, 1.0)
        self.labels = labels[self.train].astype(np.float32)
        self._held: dict[str, tuple[Any, Any]] = {}

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 where numbers are predicted."""
        return self.table.n_classes

    @property
    def n_rows(self) -> int:
        return len(self.train)

    @property
    def n_columns(self) -> int:
        return int(self.table.X.shape[1])

    @property
    def is_large(self) -> bool:
        """Whether grids are smaller because every fit is slow: with many classes."""
        return self.n_classes > 2

    @property
    def delta(self) -> float:
        return float(self.n_rows) ** -2.0

    def at(self, seed: int) -> "TableProblem":
        """The same table with the split of another seed."""
        return split(self.table, seed)

    def rows(self, name: str) -> tuple[Any, Any]:
        """Training and test rows under a map; compressed for two classes, dense otherwise."""
        if name not in self._held:
            rows = getattr(self.table, name)
            if self.n_classes:
                rows = rows / np.maximum(np.linalg.norm(rows, axis=1), 1e-12)[:, None]
            else:
                rows = rows / longest(self.table)
            rows = rows.astype(np.float32)
            pair = (rows[self.train], rows[self.test])
            self._held[name] = tuple(map(sp.csr_array, pair)) if self.n_classes == 2 else pair
        return self._held[name]

    def judge(self, margins: np.ndarray) -> dict[str, float]:
        """How good predictions of a rival are.

        Numbers are in units of ``y_bound`` and are cut to it, which is free. Margins are those of
        the second class, or one column per class.
        """
        if not self.n_classes:
            margins = np.clip(margins.reshape(-1), -1.0, 1.0) * self.table.y_bound
        return self.judge_as_is(margins)

    def judge_as_is(self, found: np.ndarray) -> dict[str, float]:
        """How good numbers in the units of the table, or margins of classes, are."""
        truth = self.table.y[self.test]
        if not self.n_classes:
            return measures.of_numbers(truth, found)
        return measures.of_margins(truth, found, self.measure)


@lru_cache(maxsize=8)
def split(table: Table, seed: int) -> TableProblem:
    return TableProblem(table, seed)


def longest(table: Table) -> float:
    """The largest length of a row, a public number: one level of every category is 1."""
    return math.sqrt(table.n_numbers + table.n_categories)


class PerSplit:
    """A rival whose fits run on the split of their own seed."""

    def __init__(self, rival: Any) -> None:
        self.rival, self.name = rival, rival.name

    def effort(self, problem: TableProblem) -> Effort:
        found: Effort = self.rival.effort(problem)
        return found

    def coarse(self, problem: TableProblem, epsilon: float) -> list[dict[str, Any]]:
        return list(self.rival.coarse(problem, epsilon))

    def nearby(self, problem: TableProblem, epsilon: float, best: dict) -> list[dict[str, Any]]:
        return list(self.rival.nearby(problem, epsilon, best))

    def scores(
        self, problem: TableProblem, requests: Sequence[Request]
    ) -> Iterator[tuple[Request, dict[str, float]]]:
        ordered = sorted(requests, key=lambda request: request.seed)
        for seed, group in groupby(ordered, key=lambda request: request.seed):
            yield from self.rival.scores(problem.at(seed), list(group))
