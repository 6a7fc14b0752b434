"""How columns are scaled and centred before rows are compared: from released masses alone."""

import math
from dataclasses import dataclass

import numpy as np

from dplasso.base.arrays import Floats, Ints
from dplasso.losses.pace import Thresholds
from dplasso.solvers.gradient.plan import GradientPlan

ALL = slice(None)
# Whole numbers in a damping of 1: what a conditioned row is made of.
WHOLE = 2.0**18
# A damping is at most this, and the centre no longer than a row: squares of lengths then fit.
LARGEST, LONGEST_CENTRE = 2.0**6, 1.0


@dataclass(frozen=True)
class Mass:
    """The mean unit row, as released, and the standard deviation of its noise.

    Formal guarantees
    -----------------
    A function of the release and public numbers.
    """

    mean: Floats
    noise: float
    thresholds: Thresholds

    @classmethod
    def of(cls, released: Ints, plan: GradientPlan) -> "Mass":
        """Read a release of the sums of unit rows; sums are read in the middle of their cell."""
        total = plan.unit * plan.n_rows
        middle = 0.5 if plan.mass_sigma else 0.0
        mean = (released.astype(np.float64) + middle) / total
        noise = plan.mass_sigma / total
        return cls(mean, noise, plan.thresholds)

    def damping(self, columns: slice = ALL) -> Floats:
        """The more of the rows' length a column has, the less it counts."""
        floor = max(self.thresholds.least, self.thresholds.damped * self.noise)
        return np.sqrt(floor / np.maximum(self.mean[columns], floor))

    @property
    def present(self) -> Floats:
        """How much of the rows' length a column has: no less than what noise can hide."""
        return np.maximum(self.mean, self.noise / 2.0)

    @property
    def shared(self) -> float:
        """Square length of the mean, without that of its noise: what unit rows have in common."""
        return float(np.sum(self.mean**2)) - len(self.mean) * self.noise**2

    def centre(self) -> Floats:
        """The mean, where it is told from noise; else 0, which keeps columns sparse.

        Rows that have much in common differ in little: then all of the mean is taken off, however
        little a single column stands out, shrunk towards the columns' average by what is noise in
        it (James and Stein).
        """
        if self.shared > self.thresholds.shared:
            average, spread = float(self.mean.mean()), float(self.mean.var())
            told = 1.0 - self.noise**2 / spread if spread > self.noise**2 else 0.0
            return average + told * (self.mean - average)
        return np.where(self.mean > self.thresholds.centred * self.noise, self.mean, 0.0)


@dataclass(frozen=True)
class Conditioning:
    """Dampings and centre, and the whole numbers that conditioned rows are made of.

    Formal guarantees
    -----------------
    A function of releases and public numbers. Nothing about sensitivity rests on what it holds:
    rows are scaled by their own length under whatever damping and centre there is.
    """

    damping: Floats
    whole_centre: Ints  # damped, in whole numbers
    head: Ints  # columns that the centre is not 0 in
    head_centre: Floats  # the centre in those

    @classmethod
    def of(cls, damping: Floats, centre: Floats) -> "Conditioning":
        head = np.flatnonzero(centre)
        head_centre = centre[head]
        length = math.sqrt(float(np.sum(head_centre**2)))
        head_centre *= min(1.0, LONGEST_CENTRE / max(length, 1e-300))
        return cls._whole(damping, head, head_centre)

    def with_damping(self, damping: Floats) -> "Conditioning":
        """The same centre, other dampings."""
        return self._whole(damping, self.head, self.head_centre)

    @classmethod
    def _whole(cls, damping: Floats, head: Ints, head_centre: Floats) -> "Conditioning":
        damping = np.minimum(damping, LARGEST)
        whole_centre = np.zeros(len(damping), np.int64)
        whole_centre[head] = np.rint(damping[head] * WHOLE * head_centre)
        return cls(damping, whole_centre, head, head_centre)

    def margin_of_centre(self, weights: Floats) -> float:
        """The weights' product with the centre."""
        return float(np.sum(weights[self.head] * self.head_centre))

    @property
    def square_centre(self) -> int:
        """Square of the centre's length, in whole numbers."""
        return int(np.sum(self.whole_centre[self.head] ** 2))
