"""A data set with a split and a measure of success: what every rival is given."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from harness import measures


def unit(X: sp.csr_array) -> sp.csr_array:
    """Rows divided by their own length; a row without entries stays as it is."""
    X = sp.csr_array(X, dtype=np.float64)
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    lengths[lengths == 0.0] = 1.0
    return sp.csr_array(sp.diags_array(1.0 / lengths) @ X, dtype=np.float32)


def presence(X: sp.csr_array) -> sp.csr_array:
    """1 where an entry is not 0."""
    present = sp.csr_array(X != 0, dtype=np.float32)
    present.eliminate_zeros()
    return present


def _reordered(X: sp.csr_array, order: np.ndarray) -> sp.csr_array:
    place = np.empty(len(order), dtype=X.indices.dtype)
    place[order] = np.arange(len(order), dtype=X.indices.dtype)
    moved = sp.csr_array((X.data, place[X.indices], X.indptr), shape=X.shape)
    moved.sort_indices()
    return moved


MAPS: dict[str, Callable[[sp.csr_array], sp.csr_array]] = {
    "presence": lambda X: unit(presence(X)),
    "as_is": unit,
}


class Request(NamedTuple):
    """One fit that is wanted."""

    epsilon: float
    settings: dict[str, Any]
    seed: int


class Effort(NamedTuple):
    """How many of a coarse grid are looked at again, and on how many seeds."""

    finalists: int
    seeds: int


class Problem:
    """Rows and labels (0, 1 and so on) to train and to test on, delta, and how a fit is judged.

    Rows are handed out by the name of a public map of single rows, of length 1. ``measure`` is the
    success that a fit is judged by. delta is 1 / n^2 unless it is given.
    """

    def __init__(
        self,
        name: str,
        train: sp.csr_array,
        labels: np.ndarray,
        test: sp.csr_array,
        test_labels: np.ndarray,
        measure: str = "accuracy",
        *,
        n_classes: int = 2,
        delta: float | None = None,
    ) -> None:
        self.name, self.measure, self.n_classes = name, measure, n_classes
        # Nothing here looks at the order of columns; frequent ones side by side are faster.
        train, test = sp.csr_array(train), sp.csr_array(test)
        order = np.argsort(-np.bincount(train.indices, minlength=train.shape[1]), kind="stable")
        self.train, self.test = _reordered(train, order), _reordered(test, order)
        self.labels = np.asarray(labels, dtype=np.float32)
        self.test_labels = test_labels
        self.delta = float(self.train.shape[0]) ** -2.0 if delta is None else delta
        self._held: dict[str, tuple[sp.csr_array, sp.csr_array]] = {}

    @property
    def n_rows(self) -> int:
        return int(self.train.shape[0])

    @property
    def n_columns(self) -> int:
        return int(self.train.shape[1])

    @property
    def is_wide(self) -> bool:
        """Whether a pass over the weights alone is slow."""
        return self.n_columns >= 500_000

    @property
    def is_large(self) -> bool:
        """Whether a pass over the data is slow, so that grids are smaller."""
        return self.is_wide or self.n_rows >= 60_000 or self.n_classes > 2

    def rows(self, name: str) -> tuple[sp.csr_array, sp.csr_array]:
        """Training and test rows under a map."""
        if name not in self._held:
            self._held[name] = (MAPS[name](self.train), MAPS[name](self.test))
        return self._held[name]

    @cached_property
    def maps(self) -> list[str]:
        """The maps worth trying: one where all give the same rows."""
        ours, theirs = (self.rows(name)[0] for name in ("presence", "as_is"))
        same = ours.nnz == theirs.nnz and np.allclose(ours.data, theirs.data, atol=1e-6)
        if same:
            self._held["as_is"] = self._held["presence"]
        return ["presence"] if same else ["presence", "as_is"]

    def judge(self, margins: np.ndarray) -> dict[str, float]:
        """How good margins of the test rows are: those of the second class, or one per class."""
        return measures.of_margins(self.test_labels, margins, self.measure)


def rounded(value: float) -> float:
    """A setting to four digits: the same on every machine, so that a cache knows it again."""
    return float(f"{value:.4g}")
