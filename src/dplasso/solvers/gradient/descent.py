"""The public state of a descent, computed from its releases."""

import math

import numpy as np
from numpy.typing import NDArray

from dplasso.base import threads as pool
from dplasso.base.arrays import Floats, Ints
from dplasso.kernels import descent as kernel
from dplasso.solvers.gradient.conditioning import Conditioning, Mass
from dplasso.solvers.gradient.cut import largest_only
from dplasso.solvers.gradient.mixture import SignalShare, size_counts
from dplasso.solvers.gradient.plan import GradientPlan

# This last share of the iterates is averaged.
AVERAGED = 0.25
# Upper limit on the damping of the columns that remain after a cut. Masses of a million columns are
# mostly noise, and the length that they seem to have must not all go to the few that remain.
LARGEST_DAMPING_LEFT = 4.0
# Columns handled at a time, which keeps intermediate arrays small.
BLOCK = 1 << 16


class Descent:
    """Weights, intercepts and conditioning after the releases received so far.

    Formal guarantees
    -----------------
    It is post-processing: a function of ``plan``, the released masses and the releases received. It
    never receives data, and anyone can repeat it (`dplasso.solvers.gradient.replay`).
    """

    def __init__(self, plan: GradientPlan, mass: Mass, threads: int) -> None:
        shape = (plan.outputs, plan.n_columns)
        self.plan, self.mass = plan, mass
        self.conditioning = Conditioning.of(mass.damping(), mass.centre())
        self.weights, self.intercepts = np.zeros(shape), np.zeros(plan.outputs)
        self.done = 0
        self._length = self._mean_length(self.conditioning.damping)
        self._left = plan.outputs * plan.n_columns
        self._dropped: NDArray[np.bool_] | None = None
        self._gathered = np.zeros(shape)
        self._spread = np.zeros(plan.n_columns)  # noise variance, in units of one step's
        self._last, self._kept = math.ceil(AVERAGED * plan.steps), 0
        self._weights_kept, self._intercepts_kept = np.zeros(shape), np.zeros(plan.outputs)
        self._runs = pool.even_runs(plan.n_columns, threads)

    def receive(self, released: Ints) -> None:
        """Take a step along released sums, outputs x (columns, then the intercept)."""
        plan, damping = self.plan, self.conditioning.damping
        step = plan.step_after(self.done)
        for k, sums in enumerate(released):
            state = (damping, plan.grid, step, self._gathered[k], self.weights[k])
            pool.run(kernel.move, [(sums, *state, *run) for run in self._runs])
        self._clear_dropped()
        self.intercepts -= plan.intercept_step * plan.grid * (released[:, -1] + 0.5)
        self._spread += damping**2
        self.done += 1
        if self.done > plan.steps - self._last:
            self._kept += 1
            self._weights_kept += self.weights
            self._intercepts_kept += self.intercepts
        if plan.reweighted and self.done in (plan.steps // 3, 2 * plan.steps // 3):
            self._reweight()
        if plan.weights_left(self.done) < self._left:
            self._cut()

    def averaged(self) -> Floats:
        """Mean weights of the last iterates."""
        return self._weights_kept / self._kept

    def intercepts_beside(self, weights: Floats) -> Floats:
        """Mean intercepts for uncentred rows, to be used with all or some of the weights."""
        shifts = [self.conditioning.margin_of_centre(row) for row in weights]
        intercepts: Floats = self._intercepts_kept / self._kept - np.array(shifts)
        return intercepts

    def _reweight(self) -> None:
        """Reweight columns by the signal they have shown so far."""
        blocks = [slice(at, at + BLOCK) for at in range(0, self.plan.n_columns, BLOCK)]
        share = SignalShare(np.sum([self._size_counts(block) for block in blocks], axis=0))
        damping = np.empty(self.plan.n_columns)
        for block in blocks:
            damping[block] = self.mass.damping(block) * np.sqrt(self._signal(block, share))
        self._damp(damping)

    def _cut(self) -> None:
        """Drop the weights that move margins least; the others keep their values."""
        self._left = self.plan.weights_left(self.done)
        self._dropped = largest_only(self.weights, self.mass, self._left) == 0.0
        self._clear_dropped()
        self._damp(self.conditioning.damping.copy())

    def _clear_dropped(self) -> None:
        if self._dropped is not None:
            self._gathered[self._dropped] = 0.0
            self.weights[self._dropped] = 0.0

    def _damp(self, damping: Floats) -> None:
        """Set dampings, 0 for dropped columns, so that rows keep their mean length if possible."""
        if self._dropped is not None:
            damping[self._dropped.all(axis=0)] = 0.0
        length = self._mean_length(damping)
        if length > 0.0:
            damping *= math.sqrt(self._length / length)
        if self._dropped is not None:
            np.minimum(damping, LARGEST_DAMPING_LEFT, out=damping)
        self.conditioning = self.conditioning.with_damping(damping)

    def _mean_length(self, damping: Floats) -> float:
        """Mean squared length of the rows under a damping, estimated from the masses."""
        return float(np.sum(self.mass.present * damping**2))

    def _standard(self, block: slice) -> Floats:
        """The gathered sums, in standard deviations of their noise."""
        noise = self.plan.step_noise * np.sqrt(self._spread[block])
        return self._gathered[:, block] / noise

    def _size_counts(self, block: slice) -> Ints:
        return size_counts(self._standard(block).ravel())

    def _signal(self, block: slice, share: SignalShare) -> Floats:
        """Size of the signal in a block of columns, averaged over the outputs."""
        z = self._standard(block)
        part = share(z)
        signal: Floats = np.sqrt((z * part) ** 2 + part).mean(axis=0)
        return signal
