"""The opened matrix, as real numbers."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dplasso.base.arrays import Floats, Ints
from dplasso.federated.moments.plan import MomentPlan


@dataclass(frozen=True)
class Moments:
    """Noisy sums of products of all columns: features in the parties' order, then 1, then labels.

    Entries are in units of their bounds. ``sigma`` is the public standard deviation of the noise
    off the diagonal; on it, the noise is sqrt(2) times as large.

    Formal guarantees
    -----------------
    A function of the release that `MomentPlan` prices. All that is computed from it costs nothing.
    """

    plan: MomentPlan
    products: Floats
    sigma: float

    @classmethod
    def read(cls, plan: MomentPlan, matrix: Ints) -> "Moments":
        """Read the sum of all shares, a symmetric matrix of whole numbers."""
        terms = plan.terms
        labels = terms.columns(terms.label_holder).stop - 1 - terms.n_targets
        order = np.arange(terms.n_columns)
        last = slice(labels, labels + 1 + terms.n_targets)
        order = np.concatenate([np.delete(order, last), order[last]])
        # Each share of the noise was rounded down, by a half on average.
        half = len(terms.names) / 2.0 if plan.multiplier else 0.0
        products = (matrix[np.ix_(order, order)].astype(np.float64) + half) / plan.entry**2
        return cls(plan, products, plan.total_sigma)

    @property
    def n_features(self) -> int:
        """Number of features of all parties."""
        return self.plan.terms.n_features

    @cached_property
    def n_rows(self) -> float:
        """The number of people, from the product of 1 with itself: at least 1, and the noise."""
        counted = float(self.products[self.n_features, self.n_features])
        return float(np.clip(counted, max(1.0, self.sigma), max(1.0, self.plan.terms.n_rows)))

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
