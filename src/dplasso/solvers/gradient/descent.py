"""The public state of a descent, computed from its releases."""

import math
from typing import Any

import numpy as np

from dplasso.base import threads as pool
from dplasso.base.arrays import Floats, Ints
from dplasso.kernels import mixture as mixture_kernel
from dplasso.solvers.gradient.conditioning import WHOLE, Conditioning, Mass, MeanLength
from dplasso.solvers.gradient.iterate import Iterate
from dplasso.solvers.gradient.mixture import BIN, LAST, SignalShare
from dplasso.solvers.gradient.plan import CONSTANT, NARROW_COLUMNS, GradientPlan

# This last share of the iterates is averaged.
AVERAGED = 0.25
# Where weights are held back at first, all margins may be far on one side once they are set free,
# and come back within some steps. An iterate is not averaged if the mean residual of the BALANCES
# iterates before it was beyond this share of the clip. The last iterate always is.
ONE_SIDED, BALANCES = 0.2, 2
# Part of what a row could add to its own margin that it does add if its residual stays at its clip.
# It is less if the columns that are left have less than this share of the rows' length. Both were
# measured on labels at random, and on rcv1_vw_small, imdb_uni and farm_ads.
OWN, LEAST_LEFT = 0.7, 0.25


class Descent:
    """Weights, intercepts and conditioning after the releases received so far.

    Formal guarantees
    -----------------
    It is post-processing: a function of ``plan``, the released masses and the releases received. It
    never receives data, and anyone can repeat it (`dplasso.solvers.gradient.replay`).
    """

    def __init__(
        self, plan: GradientPlan, mass: Mass, iterate: Iterate, threads: int | None = None
    ) -> None:
        self.plan, self.mass, self.iterate = plan, mass, iterate
        self._threads = pool.available() if threads is None else threads
        self.conditioning = Conditioning.of(mass.damping(), mass.centre())
        self.intercepts = np.zeros(plan.outputs)
        self.done = 0
        self._length = MeanLength.of(mass, self.conditioning)
        self._square_centre = self.conditioning.square_centre / WHOLE**2
        self._left = plan.outputs * plan.n_columns
        self._last, self._kept = math.ceil(AVERAGED * plan.steps), 0
        self._intercepts_kept = np.zeros(plan.outputs)
        self._residuals = np.zeros((0, plan.outputs))  # released means at the last iterates

    def receive(self, released: Any) -> None:
        """Take a step along released sums, of the kind that the iterate moves along."""
        plan = self.plan
        step = plan.step_after(self.done)
        constants = self.iterate.move(released, self.conditioning, plan.grid, step)
        residuals = plan.grid * (constants + 0.5)
        self.intercepts -= plan.intercept_step * residuals
        self._residuals = np.vstack([self._residuals, residuals])[-BALANCES:]
        self.done += 1
        if self.done > plan.steps - self._last and (self._is_balanced or self.done == plan.steps):
            self._kept += 1
            self.iterate.keep()
            self._intercepts_kept += self.intercepts
        if plan.reweighted and self.done in (plan.steps // 3, 2 * plan.steps // 3):
            self._reweight()
        if plan.weights_left(self.done) < self._left:
            self._cut()

    @property
    def _is_balanced(self) -> bool:
        """Whether margins are not far on one side, or weights were never held back."""
        plan = self.plan
        most = ONE_SIDED * CONSTANT * plan.clip * plan.n_rows
        return plan.held_back == 1.0 or float(np.abs(self._residuals.mean(axis=0)).max()) <= most

    def averaged(self) -> Floats:
        """Mean weights of the last iterates."""
        return self.iterate.kept() / self._kept

    def intercepts_beside(self, weights: Floats) -> Floats:
        """Mean intercepts for uncentred rows, to be used with all or some of the weights."""
        shifts = [self.conditioning.margin_of_centre(row) for row in weights]
        intercepts: Floats = self._intercepts_kept / self._kept - np.array(shifts)
        return intercepts

    def own_margin(self, weights: Floats) -> float:
        """What a row of the fit adds to its own margin if its residual stays at its clip.

        A step moves the row's margin by the length of the damped row. Few columns have many rows
        each, so that a single one adds next to nothing: 0.
        """
        plan, present = self.plan, self.mass.present
        whole = float(present.sum())
        if plan.n_columns <= NARROW_COLUMNS or whole == 0.0:
            return 0.0
        left = float(present[weights.any(axis=0)].sum()) / whole
        length = math.sqrt(max(self._length.first / whole - self._square_centre, 0.0))
        part = OWN * math.sqrt(min(left / LEAST_LEFT, 1.0))
        return part * plan.clip * plan.step * plan.steps * length

    def _reweight(self) -> None:
        """Reweight columns by the signal they have shown so far."""
        columns, (gathered, spread) = self.conditioning.columns, self.iterate.gathered()
        evidence = (gathered, spread, self.plan.step_noise, columns)
        parts = self._run(mixture_kernel.size_counts, (*evidence, BIN, LAST), columns)
        counts: Ints = np.sum(parts, axis=0)
        counts[0] += gathered.size - counts.sum()  # dropped columns, which show nothing
        share = SignalShare(counts)
        damping = np.zeros(self.plan.n_columns)
        facts = (*evidence, share.middles, share.shares, share.slopes)
        self._run(mixture_kernel.signals, facts, columns, damping)
        self.mass.times_damping(damping, self._threads)
        self.conditioning = self._length.kept(self.conditioning, damping, columns, self._threads)

    def _cut(self) -> None:
        """Drop the weights that move margins least; the others keep their values."""
        self._left = self.plan.weights_left(self.done)
        self.conditioning = self.iterate.cut(self._left, self.conditioning, self._length)

    def _count(self, columns: Ints | None) -> int:
        return self.plan.n_columns if columns is None else len(columns)

    def _run(
        self, loop: Any, facts: tuple[Any, ...], columns: Ints | None, *out: Floats
    ) -> list[Any]:
        """Run a loop over all columns, or over some, in parallel."""
        runs = pool.even_runs(self._count(columns), self._threads)
        return pool.run(loop, [(*facts, *run, *out) for run in runs])
