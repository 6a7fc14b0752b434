"""A party's share of the noise on the matrix."""

import numpy as np

from dplasso.base.arrays import Ints
from dplasso.federated.moments.plan import MomentPlan
from dplasso.mechanisms.grid_gaussian import GridGaussian, NoiseOf


class NoiseShare:
    """Draws one party's noise on the upper triangle of the matrix, row by row.

    Formal guarantees
    -----------------
    - Each number is floor(X), X normal, drawn exactly (`GridGaussian`) and independently: standard
      deviation ``share_sigma`` of the plan off the diagonal, sqrt(2) times that on it.
    - K such shares together, or the K - c that colluders do not know, cost what `MomentPlan` says.
      One share alone promises less: it is never added to anything that is opened by itself.
    - Assumption: the bits of the generator are fair and known to this party alone.
    """

    def __init__(self, plan: MomentPlan, noise_of: NoiseOf = GridGaussian) -> None:
        rows, columns = np.triu_indices(plan.terms.n_columns)
        self._diagonal = rows == columns
        self._off = noise_of(plan.share_sigma)
        self._on = noise_of(plan.share_sigma_on_diagonal)

    def drawn(self, generator: np.random.Generator) -> Ints:
        """Return fresh noise."""
        noise = np.zeros(len(self._diagonal), np.int64)
        for mechanism, where in ((self._off, ~self._diagonal), (self._on, self._diagonal)):
            values = np.zeros(int(where.sum()), np.int64)
            mechanism.add_to(values, generator)
            noise[where] = values
        return noise
