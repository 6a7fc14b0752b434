"""The descent as the public sees it: where it stands, given what has been released."""

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

# The last part of the iterates is averaged.
AVERAGED = 0.25
# Of columns that are left when others are dropped. Masses of a million columns are mostly noise,
# and as much length as that seems to be must not all go to the few that stay.
LARGEST_DAMPING_LEFT = 4.0
# Columns at a time: what is computed on the way stays small.
BLOCK = 1 << 16


class Descent:
    """Weights, intercepts and conditioning after the releases received so far.

    Formal guarantees
    -----------------
    A function of ``plan``, the released masses and the releases received: it is never handed data.
    Whoever has those can repeat it (`dplasso.solvers.gradient.replay`).
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
        self._spread = np.zeros(plan.n_columns)  # of what is gathered, in variances of one step
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
        """Mean intercepts for rows that are not centred, beside all or some of the weights."""
        shifts = [self.conditioning.margin_of_centre(row) for row in weights]
        intercepts: Floats = self._intercepts_kept / self._kept - np.array(shifts)
        return intercepts

    def _reweight(self) -> None:
        """Let columns count by how much signal they have shown."""
        blocks = [slice(at, at + BLOCK) for at in range(0, self.plan.n_columns, BLOCK)]
        share = SignalShare(np.sum([self._size_counts(block) for block in blocks], axis=0))
        damping = np.empty(self.plan.n_columns)
        for block in blocks:
            damping[block] = self.mass.damping(block) * np.sqrt(self._signal(block, share))
        self._damp(damping)

    def _cut(self) -> None:
        """Drop the weights that move margins least; the others go on from where they are."""
        self._left = self.plan.weights_left(self.done)
        self._dropped = largest_only(self.weights, self.mass, self._left) == 0.0
        self._clear_dropped()
        self._damp(self.conditioning.damping.copy())

    def _clear_dropped(self) -> None:
        if self._dropped is not None:
            self._gathered[self._dropped] = 0.0
            self.weights[self._dropped] = 0.0

    def _damp(self, damping: Floats) -> None:
        """Set dampings, 0 for columns without weights; rows keep their mean length if they can."""
        if self._dropped is not None:
            damping[self._dropped.all(axis=0)] = 0.0
        length = self._mean_length(damping)
        if length > 0.0:
            damping *= math.sqrt(self._length / length)
        if self._dropped is not None:
            np.minimum(damping, LARGEST_DAMPING_LEFT, out=damping)
        self.conditioning = self.conditioning.with_damping(damping)

    def _mean_length(self, damping: Floats) -> float:
        """Square of the rows' length under a damping, on average and as far as masses tell."""
        return float(np.sum(self.mass.present * damping**2))

    def _standard(self, block: slice) -> Floats:
        """What is gathered, in standard deviations of its noise."""
        noise = self.plan.step_noise * np.sqrt(self._spread[block])
        return self._gathered[:, block] / noise

    def _size_counts(self, block: slice) -> Ints:
        return size_counts(self._standard(block).ravel())

    def _signal(self, block: slice, share: SignalShare) -> Floats:
        """Size of the signal in a block of columns, on average over the outputs."""
        z = self._standard(block)
        part = share(z)
        signal: Floats = np.sqrt((z * part) ** 2 + part).mean(axis=0)
        return signal
