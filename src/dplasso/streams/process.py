"""The interface of all constructions: noise, step by step, that is independent of the data."""

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from scipy import linalg

from dplasso.base.arrays import Floats, Ints

Arrays = dict[str, Ints]


class Noise(NamedTuple):
    """Noise of one step, valid until the next is requested."""

    values: Ints
    floors: int  # number of rounded-down terms in the sum; each lowers the mean by half a unit


class Stretch(NamedTuple):
    """Noises of several consecutive steps."""

    values: Ints  # steps x numbers
    floors: Ints  # one per step


class NoiseProcess(ABC):
    """The noise of released running sums: S_t is the exact sum of all rows so far, plus noise t.

    Formal guarantees
    -----------------
    Noise is a function of a secret key and the step, in integer units of a public grid: it is the
    same however often and in whatever order steps are requested. It reads no data. With z a vector
    of independent standard normal numbers (or vectors, one per coordinate), noises are those of
    ``noise_matrix @ z``, in units of the sensitivity; rounding them down costs nothing, for a
    reason that each construction states.
    """

    @abstractmethod
    def at(self, step: int) -> Noise:
        """The noise of a step, counted from 1; fast for the step after the last one requested."""

    @abstractmethod
    def noise_matrix(self, steps: int) -> Floats:
        """Steps x sources of noise, in units of the sensitivity."""

    def ahead(self, first: int, count: int) -> Stretch:
        """The noises of ``count`` steps from ``first`` on, in new arrays."""
        # Copies, because a noise is valid only until the next is requested.
        steps = range(first, first + count)
        noises = [(values.copy(), floors) for values, floors in map(self.at, steps)]
        values, floors = zip(*noises, strict=True)
        return Stretch(np.stack(values), np.array(floors, np.int64))

    def state(self) -> Arrays:
        """State that makes it fast to continue, as secret as the key; by default there is none."""
        return {}

    def resume(self, state: Arrays) -> None:  # noqa: B027 (a process without state has none)
        """Continue from `state`; the noises are the same without it."""


class NoNoise(NoiseProcess):
    """No noise, and no privacy."""

    def __init__(self, dimension: int) -> None:
        self._zero = np.zeros(dimension, np.int64)

    def at(self, step: int) -> Noise:
        return Noise(self._zero, 0)

    def noise_matrix(self, steps: int) -> Floats:
        return np.zeros((steps, 1))


class Grid(NamedTuple):
    """Public grid: 2^bits units are the bound on a row's length.

    ``reach`` is the distance in units by which a changed row can move a sum.
    """

    bits: int
    reach: int


def toeplitz(column: Floats) -> Floats:
    """The lower triangular matrix whose diagonals are constant, with this first column."""
    matrix: Floats = np.tril(linalg.toeplitz(column))
    return matrix
