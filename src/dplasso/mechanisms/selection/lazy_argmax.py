"""The best vertex without computing every score, without privacy."""

import math

import numpy as np

from dplasso.base import threads as pool
from dplasso.base.arrays import Floats
from dplasso.kernels import greedy as kernels
from dplasso.kernels.columns import norms2
from dplasso.mechanisms.selection import score_bounds
from dplasso.mechanisms.selection.base import Rule


class LazyArgmax(Rule):
    """Takes the same vertices as `Argmax`, evaluating only columns that could be the best.

    Not private: for theta = infinity only.
    """

    def _prepare(self) -> None:
        problem, (norm1, norm2) = self.problem, self._norms()
        order = np.argsort(-norm2, kind="stable")
        classes, size = problem.classes, len(norm1) * problem.classes
        blocks = -(-size // kernels.GREEDY_BLOCK)
        entries = np.diff(problem.indptr)[order]
        rounds = len(self.walk.vertices)
        limit = score_bounds.limit(problem, entries, norm1[order], rounds)
        limit = np.repeat(np.where(entries > 0, limit, 0.0), classes)
        self.bounds = kernels.Bounds(
            vertices=(order[:, None] * classes + np.arange(classes)).ravel(),
            limit=limit,
            drift=np.repeat(score_bounds.drift(problem, entries, norm2[order]), classes),
            pad=np.repeat(score_bounds.padding(problem, entries, norm1[order], rounds), classes),
            score=np.zeros(size),
            # The score of an empty column is always 0.
            score_path=np.where(limit > 0.0, -math.inf, 0.0),
            block_drift=np.zeros(blocks),
            block_base=np.zeros(blocks),
            block_limit=np.zeros(blocks),
            block_pad=np.zeros(blocks),
        )
        kernels.settle_all(self.bounds)
        self.searched = np.zeros(blocks, np.uint8)

    def advance(self, until: int) -> None:
        kernels.advance_lazily(
            self.problem, self.walk, self.bounds, self.searched, self.done, until
        )
        self.done = until

    def _norms(self) -> tuple[Floats, Floats]:
        """1-norms and 2-norms of all columns."""
        problem, columns = self.problem, np.arange(len(self.problem.indptr) - 1)
        if problem.norm1 is None:
            norm1 = np.diff(problem.indptr).astype(np.float64)
            return norm1, np.sqrt(norm1)
        norm2 = np.empty(len(columns))
        runs = pool.balanced_runs(problem.indptr, self.threads)
        calls = [(problem.indptr, problem.values, columns[a:b], norm2[a:b]) for a, b in runs]
        pool.run(norms2, calls)
        return problem.norm1.astype(np.float64) * problem.x_bound, norm2
