"""What all constructions have in common: noise, step by step, that knows nothing of the data."""

from abc import ABC, abstractmethod
from typing import NamedTuple, Protocol

import numpy as np

from dplasso.base.arrays import Floats, Ints

Arrays = dict[str, Ints]


class NoiseProcess(Protocol):
    """The noise of released running sums: S_t is the exact sum of all rows so far, plus noise t.

    Formal guarantees
    -----------------
    Noise is a function of a secret key and the step, whole numbers in units of a public grid: asked
    for twice it is the same, in whatever order steps are asked for. It reads no data. With z a
    vector of independent standard normal numbers (or vectors, one a coordinate), noises are those
    of ``noise_matrix @ z``, in units of the sensitivity; what rounding down does to them costs
    nothing, for a reason that each construction states.
    """

    def at(self, step: int) -> "Noise":
        """The noise of a step, counted from 1; quick for the step after the last one asked for."""

    def ahead(self, first: int, count: int) -> "Stretch":
        """The noises of ``count`` steps from ``first`` on, in memory of their own."""

    def state(self) -> Arrays:
        """What it takes to go on quickly, beside the key; as secret as that."""

    def resume(self, state: Arrays) -> None:
        """Go on from `state`, which noises do not depend on."""

    def noise_matrix(self, steps: int) -> Floats:
        """Steps x sources of noise, in units of the sensitivity."""

    def strategy_matrix(self, steps: int) -> Floats:
        """Sources x rows: what of a row each source hides, in standard deviations of the source.

        ``noise_matrix @ strategy_matrix`` is 1 wherever a row is in the sum and must not be seen.
        """


class Noise(NamedTuple):
    """Noise of one step, good until the next is asked for."""

    values: Ints
    floors: int  # how many numbers, rounded down, it is a sum of: its mean is less by half of that


class Stretch(NamedTuple):
    """Noises of several steps in a row."""

    values: Ints  # steps x numbers
    floors: Ints  # one a step


class StepByStep(ABC):
    """What a process does whose noise is a function of the key and the step, and of no other."""

    @abstractmethod
    def at(self, step: int) -> Noise: ...

    def ahead(self, first: int, count: int) -> Stretch:
        # A noise is good until the next is asked for: copies.
        noises = [
            (noise.values.copy(), noise.floors)
            for noise in map(self.at, range(first, first + count))
        ]
        values, floors = zip(*noises, strict=True)
        return Stretch(np.stack(values), np.array(floors, np.int64))

    def state(self) -> Arrays:
        return {}

    def resume(self, state: Arrays) -> None:
        """Nothing to do: noise is computed from the step."""
        return


class NoNoise(StepByStep):
    """No noise, and no privacy."""

    def __init__(self, dimension: int) -> None:
        self._zero = np.zeros(dimension, np.int64)

    def at(self, step: int) -> Noise:
        return Noise(self._zero, 0)

    def noise_matrix(self, steps: int) -> Floats:
        return np.zeros((steps, 1))

    def strategy_matrix(self, steps: int) -> Floats:
        return np.zeros((1, steps))


class Grid(NamedTuple):
    """Public units: 2^bits grid units are the bound on a row's length, ``reach`` how far a row that
    differs moves a sum."""

    bits: int
    reach: int
