"""The interface of all constructions: noise, step by step, that is independent of the data."""

from abc import ABC, abstractmethod
from typing import NamedTuple, Protocol

import numpy as np

from dplasso.base.arrays import Floats, Ints

Arrays = dict[str, Ints]


class NoiseProcess(Protocol):
    """The noise of released running sums: S_t is the exact sum of all rows so far, plus noise t.

    Formal guarantees
    -----------------
    Noise is a function of a secret key and the step, in integer units of a public grid: it is the
    same however often and in whatever order steps are requested. It reads no data. With z a vector
    of independent standard normal numbers (or vectors, one per coordinate), noises are those of
    ``noise_matrix @ z``, in units of the sensitivity; rounding them down costs nothing, for a
    reason that each construction states.
    """

    def at(self, step: int) -> "Noise":
        """The noise of a step, counted from 1; fast for the step after the last one requested."""

    def ahead(self, first: int, count: int) -> "Stretch":
        """The noises of ``count`` steps from ``first`` on, in new arrays."""

    def state(self) -> Arrays:
        """State that makes it fast to continue; as secret as the key."""

    def resume(self, state: Arrays) -> None:
        """Continue from `state`; the noises are the same without it."""

    def noise_matrix(self, steps: int) -> Floats:
        """Steps x sources of noise, in units of the sensitivity."""

    def strategy_matrix(self, steps: int) -> Floats:
        """Entry (s, r): how strongly source s masks row r, in standard deviations of the source.

        ``noise_matrix @ strategy_matrix`` is 1 wherever a row is in the sum and protected.
        """


class Noise(NamedTuple):
    """Noise of one step, valid until the next is requested."""

    values: Ints
    floors: int  # number of rounded-down terms in the sum; each lowers the mean by half a unit


class Stretch(NamedTuple):
    """Noises of several consecutive steps."""

    values: Ints  # steps x numbers
    floors: Ints  # one per step


class StepByStep(ABC):
    """Base of processes without state: noise depends on the key and the step alone."""

    @abstractmethod
    def at(self, step: int) -> Noise: ...

    def ahead(self, first: int, count: int) -> Stretch:
        # Copies, because a noise is valid only until the next is requested.
        noises = [
            (noise.values.copy(), noise.floors)
            for noise in map(self.at, range(first, first + count))
        ]
        values, floors = zip(*noises, strict=True)
        return Stretch(np.stack(values), np.array(floors, np.int64))

    def state(self) -> Arrays:
        return {}

    def resume(self, state: Arrays) -> None:
        """Do nothing: noise is computed from the step."""
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
    """Public grid: 2^bits units are the bound on a row's length.

    ``reach`` is the distance in units by which a changed row can move a sum.
    """

    bits: int
    reach: int
