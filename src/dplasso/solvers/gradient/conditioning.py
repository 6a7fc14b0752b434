"""Scaling and centring of columns, computed from released masses alone."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dplasso.base import threads as pool
from dplasso.base.arrays import Floats, Ints
from dplasso.kernels import descent as kernel
from dplasso.losses.pace import Thresholds
from dplasso.solvers.exact_margins import MARGIN_GRAINS, MOST_GRAINS
from dplasso.solvers.gradient.plan import GradientPlan

ALL = slice(None)
# Usual square of a number that was centred and scaled by its range.
USUAL_SQUARE = 0.25
# Integer value of a damping of 1 in conditioned rows.
WHOLE = 2.0**18
# Upper limits on a damping and on the length of the centre: squared lengths then fit into 64 bits.
LARGEST, LONGEST_CENTRE = 2.0**6, 1.0
_WITHIN = (-MOST_GRAINS, MOST_GRAINS)
# Upper limit on the damping of the columns that remain after a cut. Masses of a million columns are
# mostly noise, and the length that they seem to have must not all go to the few that remain.
LARGEST_LEFT = 4.0
# Columns are few if they are at most one in this number; among more, it is quicker to copy the
# numbers of all columns than to pick out some.
FEW = 8
# Noise makes a mean negative by at most this many of its standard deviations. A mean beyond that is
# of a column with negative entries, as hashed words with signs have.
CLEARLY_NEGATIVE = 6.0
# The first mean length of rows has about this many bits of whole grains.
LENGTH_BITS = 48


@dataclass(frozen=True)
class Mass:
    """The released mean unit row, and its noise standard deviation.

    ``numbers`` are columns that were centred by a public range, beside very many others. Their mean
    may have either sign, and says nothing of how much of the rows' length they have.

    Formal guarantees
    -----------------
    It is post-processing: a function of the release and public numbers.
    """

    mean: Floats
    noise: float
    thresholds: Thresholds
    numbers: Ints | None = None

    @classmethod
    def of(cls, released: Ints, plan: GradientPlan) -> "Mass":
        """Read released sums of unit rows, each at the middle of its grid cell."""
        total = plan.unit * plan.n_rows
        middle = 0.5 if plan.mass_sigma else 0.0
        mean = (released.astype(np.float64) + middle) / total
        noise = plan.mass_sigma / total
        return cls(mean, noise, plan.thresholds, plan.numbers)

    def damping(self, columns: slice | Ints = ALL) -> Floats:
        """Dampings: a column counts less, the more of the rows' length it has; numbers count 1."""
        floor = max(self.thresholds.least, self.thresholds.damped * self.noise)
        sizes = self._sizes(self._with_numbers(floor)[columns])
        return np.sqrt(floor / np.maximum(sizes, floor))

    def times_damping(self, factors: Floats, threads: int) -> None:
        """Multiply one number per column by the damping of its column, in place."""
        runs = [slice(*run) for run in pool.even_runs(len(factors), threads)]
        pool.run(self._multiply, [(factors, run) for run in runs])

    def _multiply(self, factors: Floats, columns: slice) -> None:
        factors[columns] *= self.damping(columns)

    @cached_property
    def present(self) -> Floats:
        """Each column's share of the rows' length, at least what noise can hide."""
        if self.numbers is None:
            return np.maximum(self._sizes(self.mean), self.noise / 2.0)
        # The mean of a column that all rows have is the inverse root of their entries, the sum of
        # all means. A number has a part of that.
        root = max(float(np.delete(self._sizes(self.mean), self.numbers).sum()), 1.0)
        sizes = self._sizes(self._with_numbers(USUAL_SQUARE / root))
        return np.maximum(sizes, self.noise / 2.0)

    def _sizes(self, means: Floats) -> Floats:
        """The size of means: columns of negative entries count as those of positive ones do.

        Means that noise may have made negative stay as they are.
        """
        return np.where(means < -CLEARLY_NEGATIVE * self.noise, -means, means)

    def _with_numbers(self, share: float) -> Floats:
        """The mean, with a share instead of it for numbers."""
        if self.numbers is None:
            return self.mean
        found = self.mean.copy()
        found[self.numbers] = share
        return found

    @property
    def shared(self) -> float:
        """Squared length of the mean, minus that of its noise: what unit rows have in common."""
        return float(np.sum(self.mean**2)) - len(self.mean) * self.noise**2

    def centre(self) -> Floats:
        """The mean where its size exceeds its noise, otherwise 0, which keeps columns sparse.

        If rows have much in common, the whole mean is subtracted, even where a single column does
        not exceed its noise. It is then shrunk towards the columns' average according to its noise
        (James and Stein).
        """
        if self.shared > self.thresholds.shared:
            average, spread = float(self.mean.mean()), float(self.mean.var())
            told = 1.0 - self.noise**2 / spread if spread > self.noise**2 else 0.0
            return average + told * (self.mean - average)
        certain = self._sizes(self.mean) > self.thresholds.centred * self.noise
        found = np.where(certain, self.mean, 0.0)
        if self.numbers is not None:  # which are not sparse
            found[self.numbers] = self.mean[self.numbers]
        return found


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
    columns: Ints | None = None  # those that are left, in order, and None for all: others are 0

    @property
    def few(self) -> Ints | None:
        """The columns that are left, if they are so few that the others are not worth sending."""
        few = self.columns is not None and FEW * len(self.columns) <= len(self.damping)
        return self.columns if few else None

    def __reduce__(self) -> tuple[Any, ...]:
        """What another process needs to make this again: most of the other numbers are 0."""
        damping = self.damping if self.few is None else self.damping[self.few]
        facts = (damping, self.whole_centre[self.head], self.head, self.head_centre, self.columns)
        return Conditioning._received, (len(self.damping), *facts)

    @staticmethod
    def _received(
        n_columns: int, damping: Floats, whole: Ints, head: Ints, *rest: Any
    ) -> "Conditioning":
        if len(damping) < n_columns:
            few, damping = damping, np.zeros(n_columns)
            damping[rest[-1]] = few
        whole_centre = np.zeros(n_columns, np.int64)
        whole_centre[head] = whole
        return Conditioning(damping, whole_centre, head, *rest)

    @classmethod
    def of(cls, damping: Floats, centre: Floats) -> "Conditioning":
        head = np.flatnonzero(centre)
        head_centre = centre[head]
        length = math.sqrt(float(np.sum(head_centre**2)))
        head_centre *= min(1.0, LONGEST_CENTRE / max(length, 1e-300))
        return Conditioning._whole(np.minimum(damping, LARGEST), head, head_centre)

    def rescaled(
        self,
        damping: Floats,
        factor: float,
        *,
        most: float = LARGEST,
        columns: Ints | None = None,
        threads: int = 1,
    ) -> "Conditioning":
        """The same centre with dampings times a factor, at most ``most``, and 0 except in
        ``columns``."""
        whole = columns is None
        made = np.empty_like(damping) if whole else pool.zeros(len(damping), np.float64, threads)
        facts = (damping, columns, factor, min(most, LARGEST))
        runs = pool.even_runs(len(damping if columns is None else columns), threads)
        pool.run(kernel.rescale, [(*facts, *run, made) for run in runs])
        return Conditioning._whole(made, self.head, self.head_centre, columns, threads)

    def narrowed(self, columns: Ints, damping: Floats, whole_centre: Ints) -> "Conditioning":
        """The same centre with other dampings, 0 except in ``columns``.

        ``whole_centre`` is memory for the integer centre, 0 wherever that is.
        """
        whole_centre[self.head] = whole_head(damping[self.head], self.head_centre)
        return Conditioning(damping, whole_centre, self.head, self.head_centre, columns)

    @staticmethod
    def _whole(
        damping: Floats,
        head: Ints,
        head_centre: Floats,
        columns: Ints | None = None,
        threads: int = 1,
    ) -> "Conditioning":
        whole_centre = pool.zeros(len(damping), np.int64, threads)
        whole_centre[head] = whole_head(damping[head], head_centre)
        return Conditioning(damping, whole_centre, head, head_centre, columns)

    def margin_of_centre(self, weights: Floats) -> float:
        """The weights' product with the centre, of whole grains like the margins of rows.

        So it is the same in whichever order and wherever it is summed.
        """
        grains = np.clip(weights[self.head] * self.head_centre * MARGIN_GRAINS, *_WITHIN)
        return float(np.sum(np.rint(grains).astype(np.int64))) / MARGIN_GRAINS

    @property
    def square_centre(self) -> int:
        """Squared length of the integer centre."""
        return int(np.sum(self.whole_centre[self.head] ** 2))


def whole_head(damping: Floats, centre: Floats) -> Ints:
    """The damped centre as integers, from the dampings and the centre of some columns."""
    return np.rint(damping * WHOLE * centre).astype(np.int64)


@dataclass(frozen=True)
class MeanLength:
    """The mean squared length of rows, which changes of dampings keep if they can.

    It is a sum over columns of their share of the rows' length times the square of their damping,
    in whole grains: the same in whichever order and wherever it is summed.

    Formal guarantees
    -----------------
    It is post-processing: a function of releases and public numbers.
    """

    present: Floats
    first: float  # at the start
    grains: float  # per 1

    @classmethod
    def of(cls, mass: Mass, conditioning: Conditioning) -> "MeanLength":
        """Measure the first dampings."""
        first = float(np.sum(mass.present * conditioning.damping**2))
        return cls(mass.present, first, math.ldexp(1.0, LENGTH_BITS - math.frexp(first)[1]))

    def factor(self, total: int) -> float:
        """Factor on dampings under which the length is ``total`` grains."""
        return math.sqrt(self.first / (total / self.grains)) if total > 0 else 1.0

    def kept(
        self, conditioning: Conditioning, damping: Floats, columns: Ints | None, threads: int
    ) -> Conditioning:
        """Condition rows with other dampings, 0 but in ``columns``; rows keep their mean length."""
        facts = (damping, self.present, columns, self.grains, MOST_GRAINS)
        runs = pool.even_runs(len(damping if columns is None else columns), threads)
        total = sum(pool.run(kernel.mean_length, [(*facts, *run) for run in runs]))
        most = LARGEST if columns is None else LARGEST_LEFT
        return conditioning.rescaled(
            damping, self.factor(int(total)), most=most, columns=columns, threads=threads
        )
