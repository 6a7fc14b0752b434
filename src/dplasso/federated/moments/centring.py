"""The means about which a party centres its rows: noisy, drawn once, and kept at the party."""

import numpy as np

from dplasso.base.arrays import Floats, Ints
from dplasso.federated.moments.plan import MomentPlan
from dplasso.federated.moments.rows import whole_rows
from dplasso.mechanisms.grid_gaussian import GridGaussian, NoiseOf

# Means are about so large, squared. They are shrunk towards 0 by the part that noise has in them.
_USUAL = 0.1


class Centring:
    """Draws the noisy means of one party's columns.

    Rows about their means are shorter. With smaller bounds on their lengths, the matrix of products
    needs less noise; and a row that a party lacks counts as one at the means.

    Formal guarantees
    -----------------
    - Neighbouring: as for `MomentPlan`.
    - Released: sums of rows that are shortened to ``mean_bound``, and the number of rows, each plus
      floor(X), X normal of standard deviation `MomentPlan.mean_sigma`, drawn exactly
      (`GridGaussian`), once. All parties together cost `MomentPlan.mean_event`.
    - Means are a function of these. Weights, scores and the rows of new people follow from them;
      the means themselves stay with the party and its model.
    - Assumption: the bits of the generator are fair and known to this party alone.
    """

    def __init__(self, plan: MomentPlan, party: str, noise_of: NoiseOf = GridGaussian) -> None:
        self._plan, self._limit = plan, plan.mean_limit(party)
        self._noise = noise_of(plan.mean_sigma) if plan.mean_sigma else None

    def drawn(self, cells: Floats, generator: np.random.Generator) -> Floats:
        """Return means of cells that are in units of their bounds."""
        entry, sums = self._plan.entry, self.sums(cells)
        if self._noise is not None:
            self._noise.add_to(sums, generator)
        sigma = self._plan.mean_sigma / entry
        people = max(float(sums[-1]) / entry, sigma, 1.0)
        means: Floats = sums[:-1] / entry * people / (people**2 + sigma**2 / _USUAL)
        return np.clip(means, -1.0, 1.0)

    def sums(self, cells: Floats) -> Ints:
        """Return the sums of rows, and last their number, without noise: whole numbers."""
        rows = whole_rows(cells, self._plan.entry, self._limit)
        return np.append(rows.sum(axis=0), len(rows) * self._plan.entry)
