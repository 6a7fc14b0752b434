"""The state of a descent that has one number per column, and the operations on it."""

from typing import Any, Protocol

import numpy as np

from dplasso.base import threads as pool
from dplasso.base.arrays import Floats, Ints
from dplasso.kernels import descent as kernel
from dplasso.solvers.gradient.conditioning import Conditioning, MeanLength
from dplasso.solvers.gradient.cut import Cuts


class Iterate(Protocol):
    """Weights, gathered sums, the variance of their noise, and the sum of the weights kept.

    It may lie on another device: only what a method returns is in this machine's memory.

    Formal guarantees
    -----------------
    It is post-processing: a function of releases and public numbers.
    """

    def move(self, released: Any, conditioning: Conditioning, grid: float, step: float) -> Ints:
        """Gather released sums and set the weights; returns the released sums of the constants.

        ``released`` is of the kind that the iterate's backend releases.
        """

    def keep(self) -> None:
        """Add the weights to those that are averaged at the end."""

    def cut(self, count: int, conditioning: Conditioning, length: MeanLength) -> Conditioning:
        """Set all but ``count`` weights to 0, now and after every further step.

        Those that move margins most are left. Returns the conditioning of the columns that have
        any, which keeps the mean length of rows.
        """

    def weights(self) -> Floats:
        """The weights, outputs x columns."""

    def gathered(self) -> tuple[Floats, Floats]:
        """The gathered sums, outputs x columns, and the variance of a column's noise in them.

        The variance is in units of that of one step.
        """

    def kept(self) -> Floats:
        """Sum of the weights kept."""


class ThreadIterate:
    """An iterate in memory, moved by threads (`Iterate`).

    It moves along the sums of all columns, or of those that are left, side by side.
    """

    def __init__(self, outputs: int, n_columns: int, threads: int) -> None:
        shape = (outputs, n_columns)
        self._weights, self._gathered, self._kept = (
            np.zeros(shape),
            np.zeros(shape),
            np.zeros(shape),
        )
        self._spread = np.zeros(n_columns)
        self._cuts: Cuts | None = None  # None before the first cut
        self._threads = threads
        # The last conditioning, and the number of its steps that are not in the spread yet.
        self._conditioning: Conditioning | None = None
        self._steps = 0

    def move(self, released: Ints, conditioning: Conditioning, grid: float, step: float) -> Ints:
        if conditioning is not self._conditioning:
            self._add_spread()
            self._conditioning = conditioning
        self._steps += 1
        columns = conditioning.columns
        alone = columns is not None and released.shape[1] == len(columns) + 1
        for k, sums in enumerate(released):
            left = None if self._cuts is None else self._cuts.left[k]
            scales = (left, conditioning.damping, grid, step)
            facts = (sums, alone, columns, *scales, self._gathered[k], self._weights[k])
            self._run(kernel.move, facts, columns)
        return released[:, -1]

    def keep(self) -> None:
        columns = None if self._conditioning is None else self._conditioning.columns
        for weights, kept in zip(self._weights, self._kept, strict=True):
            self._run(kernel.add_weights, (weights, columns, kept), columns)

    def cut(self, count: int, conditioning: Conditioning, length: MeanLength) -> Conditioning:
        if self._cuts is None:
            self._cuts = Cuts(self._weights.shape, self._threads)
        self._add_spread()  # a cut writes over dampings of earlier steps
        state = (self._weights, self._gathered)
        return self._cuts.cut(*state, count, conditioning, length)

    def weights(self) -> Floats:
        return self._weights

    def gathered(self) -> tuple[Floats, Floats]:
        self._add_spread()
        return self._gathered, self._spread

    def kept(self) -> Floats:
        return self._kept

    def _add_spread(self) -> None:
        """Add the noise of the steps since the last time.

        Steps of equal dampings are added together, which reads every damping once.
        """
        if self._conditioning is not None and self._steps:
            damping, columns = self._conditioning.damping, self._conditioning.columns
            facts = (damping, columns, self._steps, self._spread)
            self._run(kernel.add_squares, facts, columns)
        self._steps = 0

    def _run(self, loop: Any, facts: tuple[Any, ...], columns: Ints | None) -> None:
        """Run a loop over columns in parallel."""
        count = self._weights.shape[1] if columns is None else len(columns)
        pool.run(loop, [(*facts, *run) for run in pool.even_runs(count, self._threads)])
