"""The interface of a selection rule."""

from abc import ABC, abstractmethod

import numpy as np

from dplasso.kernels.problem import Problem, Walk


class Rule(ABC):
    """Selects vertices and moves the walk, round after round.

    A rule is constructed for one run. ``advance`` may be called any number of times; how the rounds
    are divided among calls does not change what is released.
    """

    def __init__(
        self, problem: Problem, walk: Walk, generator: np.random.Generator, threads: int
    ) -> None:
        self.problem = problem
        self.walk = walk
        self.generator = generator
        self.threads = threads
        self.done = 0

    @abstractmethod
    def advance(self, until: int) -> None:
        """Run until round ``until`` is done."""
