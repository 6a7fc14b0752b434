"""The opened matrix, as real numbers."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dplasso.base.arrays import Floats, Ints
from dplasso.federated.moments.plan import MomentPlan


@dataclass(frozen=True)
class Moments:
    """Noisy sums of products of all columns: features in the parties' order, then 1, then labels.

    Entries are in units of their bounds. ``variances`` are the public variances of the noise off
    the diagonal; on it, they are twice as large. Products of labels with labels are not opened, and
    NaN.

    Formal guarantees
    -----------------
    A function of the release that `MomentPlan` prices. All that is computed from it costs nothing.
    """

    plan: MomentPlan
    products: Floats
    variances: Floats

    @classmethod
    def read(cls, plan: MomentPlan, matrix: Ints) -> "Moments":
        """Read the sum of all shares, a symmetric matrix of whole numbers (labels aside)."""
        terms = plan.terms
        owner = np.repeat(np.arange(len(terms.names)), [*map(terms.width, terms.names)])
        within = owner[:, None] == owner
        variances = np.where(within, plan.sigma**2, plan.sigma_between**2)
        # Each draw of noise was rounded down, by a half on average.
        draws = np.where(within, 1, len(terms.names) + (terms.colluders > 0))
        read = matrix + draws / 2.0 * (plan.multiplier > 0.0)
        labels = terms.columns(terms.label_holder).stop - 1 - terms.n_targets
        order = np.arange(terms.n_columns)
        last = slice(labels, labels + 1 + terms.n_targets)
        order = np.concatenate([np.delete(order, last), order[last]])
        units = np.full(terms.n_columns, float(plan.entry))
        units[-terms.n_targets :] = plan.label_entry
        unit = np.outer(units, units)
        products = read[np.ix_(order, order)] / unit
        products[-terms.n_targets :, -terms.n_targets :] = np.nan
        return cls(plan, products, variances[np.ix_(order, order)] / unit**2)

    @property
    def n_features(self) -> int:
        """Number of features of all parties."""
        return self.plan.terms.n_features

    @cached_property
    def sigma(self) -> float:
        """Standard deviation of the noise on products of features: the root of the mean square."""
        return math.sqrt(np.mean(self.variances[: self.n_features, : self.n_features]))

    @cached_property
    def label_sigma(self) -> float:
        """The same on products of features with labels."""
        return math.sqrt(np.mean(self.variances[: self.n_features, self.n_features + 1 :]))

    @cached_property
    def n_rows(self) -> float:
        """The number of people, from the product of 1 with itself: at least 1, and the noise.

        Where noise is as large as the declared number, that one counts as much as the noisy one.
        """
        counted = float(self.products[self.n_features, self.n_features])
        variance = float(self.variances[self.n_features, self.n_features])
        declared, noise = float(self.plan.n_people), 2.0 * variance
        guessed = (counted * declared**2 + declared * noise) / (declared**2 + noise)
        least = max(1.0, math.sqrt(variance))
        return float(np.clip(guessed, least, max(least, self.plan.terms.n_rows)))

    @cached_property
    def means(self) -> Floats:
        """The mean of every feature, within its bound."""
        found: Floats = self.products[: self.n_features, self.n_features]
        return np.clip(found / self.n_rows, -1.0, 1.0)

    @cached_property
    def label_means(self) -> Floats:
        """The mean of every column of labels, within its bound."""
        found: Floats = self.products[self.n_features, self.n_features + 1 :]
        return np.clip(found / self.n_rows, -1.0, 1.0)

    @cached_property
    def spreads(self) -> Floats:
        """Products of features about their means."""
        of_features = self.products[: self.n_features, : self.n_features]
        found: Floats = of_features - self.n_rows * np.outer(self.means, self.means)
        return found

    @cached_property
    def slopes(self) -> Floats:
        """Products of features with labels about their means: features x columns of labels."""
        with_labels = self.products[: self.n_features, self.n_features + 1 :]
        found: Floats = with_labels - self.n_rows * np.outer(self.means, self.label_means)
        return found
