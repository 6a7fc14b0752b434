"""A point of a convex set on its way: it aims at the answer of a local linear oracle, and moves."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from dplasso.base.arrays import Floats
from dplasso.kernels import local_moves

State = dict[str, Any]


class Walk(ABC):
    """A point ``x``; `look`, then `aim`, then `move`, as often as one likes."""

    x: Floats

    def __init__(self, linear_oracle: Callable[[Floats], Floats]) -> None:
        self._linear_oracle = linear_oracle

    def look(self, gradient: Floats) -> float:
        """Ask the linear oracle about ``gradient``; how much less ``<gradient, .>`` can be."""
        self._gradient = gradient
        self._vertex = self._linear_oracle(gradient)
        return max(0.0, float(local_moves.gain_and_square(gradient, self.x, self._vertex)[0]))

    @abstractmethod
    def aim(self, radius: float) -> Floats:
        """The local linear oracle's answer for what was looked at."""

    @abstractmethod
    def move(self, share: float) -> None:
        """Go ``share`` of the way to where it was aimed at."""

    @abstractmethod
    def state(self) -> State:
        """Arrays from which `resume` continues, to the last bit."""

    @abstractmethod
    def resume(self, state: State) -> Self:
        """Stand where `state` was taken."""


class DirectWalk(Walk):
    """Where the local oracle needs to know the point alone."""

    def __init__(
        self,
        start: Floats,
        linear_oracle: Callable[[Floats], Floats],
        local_oracle: Callable[[Floats, Floats, float, Floats], Floats],
    ) -> None:
        super().__init__(linear_oracle)
        self.x = start
        self._local_oracle = local_oracle

    def aim(self, radius: float) -> Floats:
        self._target = self._local_oracle(self.x, self._gradient, radius, self._vertex)
        return self._target

    def move(self, share: float) -> None:
        self.x = (1.0 - share) * self.x + share * self._target

    def state(self) -> State:
        return {"x": self.x.copy()}

    def resume(self, state: State) -> Self:
        point = np.array(state["x"], np.float64)
        if point.shape != self.x.shape:
            raise ValueError("state must have a point of as many numbers as before; it has not")
        self.x = point
        return self
