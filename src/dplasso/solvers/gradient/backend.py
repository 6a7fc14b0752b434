"""Where a descent computes: what holds the rows, adds the noise and moves the weights."""

import math
from typing import Any, Protocol

import numpy as np

from dplasso.base import threads as pool
from dplasso.base.arrays import Floats, Ints
from dplasso.kernels import descent as kernel
from dplasso.mechanisms.grid_gaussian import AddsNoise
from dplasso.solvers.gradient.conditioning import Conditioning
from dplasso.solvers.gradient.iterate import Iterate, ThreadIterate
from dplasso.solvers.gradient.plan import GradientPlan


class Rows(Protocol):
    """Exact sums over rows, wherever these are; `PrivateRows` is the one in memory.

    Formal guarantees
    -----------------
    Those of `PrivateRows`, to the last bit: every implementation returns the same integers.
    """

    def mass(self) -> Ints:
        """Sums of the unit rows, by column."""

    def sums(self, conditioning: Conditioning, weights: Floats, intercepts: Floats) -> Ints:
        """Sums of the row gradients, outputs x (columns, then the constant).

        ``intercepts`` are those of centred rows.
        """


class Backend(Protocol):
    """Rows, noise and iterate in one place. Only releases leave it.

    Formal guarantees
    -----------------
    A release is an exact sum of `Rows` plus the noise of the mechanism that was passed, drawn once
    from the generator that was passed. With equal generators every backend releases equal numbers.
    Sums of columns that a conditioning has dropped are not released.
    """

    def release_mass(self, noise: AddsNoise, generator: np.random.Generator) -> Ints:
        """The noisy sums of the unit rows, by column."""

    def start(self) -> Iterate:
        """An iterate of zeros, which the next methods take."""

    def release_sums(
        self,
        conditioning: Conditioning,
        iterate: Any,
        intercepts: Floats,
        noise: AddsNoise,
        generator: np.random.Generator,
    ) -> Any:
        """The noisy sums of the row gradients, in the form that the iterate moves along."""

    def copied(self, released: Any) -> Ints:
        """The sums that were released last as an array in memory, outputs x (columns, then the
        constant); 0 stands for those that were not released."""


class ThreadBackend:
    """Noise and iterate in memory, on threads; the rows are anywhere (`Backend`)."""

    def __init__(self, rows: Rows, plan: GradientPlan, threads: int) -> None:
        self._rows, self._plan, self._threads = rows, plan, threads
        self._room = np.empty(0, np.int64)  # for the sums of the columns that are left
        self._columns: Ints | None = None  # those of the last release; None for all

    def release_mass(self, noise: AddsNoise, generator: np.random.Generator) -> Ints:
        mass = self._rows.mass()
        noise.add_to(mass, generator, self._threads)
        return mass

    def start(self) -> ThreadIterate:
        return ThreadIterate(self._plan.outputs, self._plan.n_columns, self._threads)

    def release_sums(
        self,
        conditioning: Conditioning,
        iterate: ThreadIterate,
        intercepts: Floats,
        noise: AddsNoise,
        generator: np.random.Generator,
    ) -> Ints:
        sums = self._rows.sums(conditioning, iterate.weights(), intercepts)
        self._columns = columns = conditioning.columns
        left = sums if columns is None else self._of_columns(sums, columns)
        noise.add_to(left.reshape(-1), generator, self._threads)
        return left

    def _of_columns(self, sums: Ints, columns: Ints) -> Ints:
        """The sums of the columns, side by side, and of the constants."""
        shape = (len(sums), len(columns) + 1)
        if self._room.size < math.prod(shape):
            self._room = np.empty(shape, np.int64).reshape(-1)
        left = self._room[: math.prod(shape)].reshape(shape)
        runs = pool.even_runs(len(columns), self._threads)
        for mine, own in zip(sums, left, strict=True):
            pool.run(kernel.take, [(mine, columns, *run, own) for run in runs])
            own[-1] = mine[-1]
        return left

    def copied(self, released: Ints) -> Ints:
        if self._columns is None:
            return released.copy()
        whole = np.zeros((len(released), self._plan.n_columns + 1), np.int64)
        whole[:, self._columns] = released[:, :-1]
        whole[:, -1] = released[:, -1]
        return whole
