"""Scaling and centring of columns, computed from released masses alone."""

import math
from dataclasses import dataclass

import numpy as np

from dplasso.base.arrays import Floats, Ints
from dplasso.losses.pace import Thresholds
from dplasso.solvers.gradient.plan import GradientPlan

ALL = slice(None)
# Integer value of a damping of 1 in conditioned rows.
WHOLE = 2.0**18
# Upper limits on a damping and on the length of the centre: squared lengths then fit into 64 bits.
LARGEST, LONGEST_CENTRE = 2.0**6, 1.0


@dataclass(frozen=True)
class Mass:
    """The released mean unit row, and its noise standard deviation.

    Formal guarantees
    -----------------
    It is post-processing: a function of the release and public numbers.
    """

    mean: Floats
    noise: float
    thresholds: Thresholds

    @classmethod
    def of(cls, released: Ints, plan: GradientPlan) -> "Mass":
        """Read released sums of unit rows, each at the middle of its grid cell."""
        total = plan.unit * plan.n_rows
        middle = 0.5 if plan.mass_sigma else 0.0
        mean = (released.astype(np.float64) + middle) / total
        noise = plan.mass_sigma / total
        return cls(mean, noise, plan.thresholds)

    def damping(self, columns: slice = ALL) -> Floats:
        """Dampings: a column counts less, the more of the rows' length it has."""
        floor = max(self.thresholds.least, self.thresholds.damped * self.noise)
        return np.sqrt(floor / np.maximum(self.mean[columns], floor))

    @property
    def present(self) -> Floats:
        """Each column's share of the rows' length, at least what noise can hide."""
        return np.maximum(self.mean, self.noise / 2.0)

    @property
    def shared(self) -> float:
        """Squared length of the mean, minus that of its noise: what unit rows have in common."""
        return float(np.sum(self.mean**2)) - len(self.mean) * self.noise**2

    def centre(self) -> Floats:
        """The mean where it exceeds its noise, otherwise 0, which keeps columns sparse.

        If rows have much in common, the whole mean is subtracted, even where a single column does
        not exceed its noise. It is then shrunk towards the columns' average according to its noise
        (James and Stein).
        """
        if self.shared > self.thresholds.shared:
            average, spread = float(self.mean.mean()), float(self.mean.var())
            told = 1.0 - self.noise**2 / spread if spread > self.noise**2 else 0.0
            return average + told * (self.mean - average)
        return np.where(self.mean > self.thresholds.centred * self.noise, self.mean, 0.0)


@dataclass(frozen=True)
class Conditioning:
    """Dampings and centre, as real numbers and as the integers in conditioned rows.

    Formal guarantees
    -----------------
    It is post-processing: a function of releases and public numbers. Sensitivity does not depend on
    its values: rows are scaled by their own length under any damping and centre.
    """

    damping: Floats
    whole_centre: Ints  # the damped centre, as integers
    head: Ints  # columns in which the centre is not 0
    head_centre: Floats  # the centre in those columns

    @classmethod
    def of(cls, damping: Floats, centre: Floats) -> "Conditioning":
        head = np.flatnonzero(centre)
        head_centre = centre[head]
        length = math.sqrt(float(np.sum(head_centre**2)))
        head_centre *= min(1.0, LONGEST_CENTRE / max(length, 1e-300))
        return cls._whole(damping, head, head_centre)

    def with_damping(self, damping: Floats) -> "Conditioning":
        """The same centre with other dampings."""
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
        """Squared length of the integer centre."""
        return int(np.sum(self.whole_centre[self.head] ** 2))
