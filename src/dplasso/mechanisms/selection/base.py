"""The interface of a selection rule."""

from abc import ABC, abstractmethod

import numpy as np

from dplasso.kernels.problem import Problem, Walk


class Rule(ABC):
    """Selects vertices and moves the walk, round after round.

    A rule is constructed for one run. ``advance`` may be called any number of times; how the rounds
    are divided among calls does not change what is released.

    Formal guarantees
    -----------------
    These are the guarantees of a private rule; it states why they hold. *Neighbouring relation*:
    two data sets that differ in one row (added or removed; or replaced, at twice the range).
    *Released*: one signed vertex per round, and nothing else. *Cost*: a round is
    ``2 theta B Q``-bounded-range (``4 theta B Q`` for replaced rows), B the bound on entries and Q
    that on row gradients, hence ``eps0^2 / 8``-zCDP, and T adaptive rounds add up. *Assumptions*:
    the logarithm of a weight is off by at most 5e-14 and 3 units in the last place of theta times
    the score (`calibrate` shrinks theta by 1e-7 for the latter; see `dplasso.privacy.calibration`);
    the time a round takes is not protected.
    """

    def __init__(
        self, problem: Problem, walk: Walk, generator: np.random.Generator, threads: int
    ) -> None:
        self.problem = problem
        self.walk = walk
        self.generator = generator
        self.threads = threads
        self.done = 0
        self._prepare()

    def _prepare(self) -> None:  # noqa: B027  # some rules hold nothing of their own
        """Set up what the rule holds in addition."""

    @abstractmethod
    def advance(self, until: int) -> None:
        """Run until round ``until`` is done."""
