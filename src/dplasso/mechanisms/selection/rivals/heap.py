"""The best of the pushed scores, by a heap of upper bounds, without privacy."""

import numpy as np

from dplasso.kernels.problem import SEARCHED
from dplasso.kernels.rivals import heap as kernels
from dplasso.mechanisms.selection.base import Rule
from dplasso.mechanisms.selection.rivals.pushed import hold


class Heap(Rule):
    """Takes the largest stored score every round; ties go to the smallest vertex.

    These are Algorithms 2 and 3 of the paper. The stored scores are not those of the iterate: see
    `dplasso.kernels.rivals.pushes`. The rule keeps a second copy of the matrix, by rows.

    Not private: for theta = infinity only.
    """

    def _prepare(self) -> None:
        if self.problem.step == SEARCHED:
            raise ValueError("step='search' needs selection='lazy' or 'argmax'")
        self.held = hold(self.problem, self.walk, self.threads)
        vertices = len(self.held.scores)
        self.heap = kernels.Heap(*(np.empty(vertices, np.int64) for _ in range(3)))
        kernels.build(self.held, self.heap)

    def advance(self, until: int) -> None:
        while self.done < until:
            self.done = kernels.advance(
                self.problem, self.walk, self.held, self.heap, self.done, until
            )
