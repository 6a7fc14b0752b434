"""A party's share of the noise on the matrix."""

import numpy as np

from dplasso.base.arrays import Ints
from dplasso.federated.moments.entries import cross_entries, opened_entries, own_entries
from dplasso.federated.moments.noise_on_entries import NoiseOnEntries
from dplasso.federated.moments.plan import MomentPlan
from dplasso.mechanisms.grid_gaussian import GridGaussian, NoiseOf


class NoiseShare:
    """Draws one party's noise on what is opened of the matrix, row by row.

    Formal guarantees
    -----------------
    - Each number is floor(X), X normal, drawn exactly (`GridGaussian`) and independently: standard
      deviation ``sigma`` of the plan on products of the party's own columns (sqrt(2) times that on
      the diagonal), ``share_sigma`` on products of two parties, and none on those of another party
      with itself.
    - The shares of all parties together cost what `MomentPlan` says. One share alone promises less:
      it is never added to anything that is opened by itself.
    - Assumption: the bits of the generator are fair and known to this party alone.
    """

    def __init__(self, plan: MomentPlan, party: str, noise_of: NoiseOf = GridGaussian) -> None:
        own, diagonal = own_entries(plan.terms, party), np.equal(*opened_entries(plan.terms))
        parts = [
            (plan.sigma, own & ~diagonal),
            (plan.sigma_on_diagonal, own & diagonal),
            (plan.share_sigma, cross_entries(plan.terms)),
        ]
        self._noise = NoiseOnEntries(parts, noise_of)

    def drawn(self, generator: np.random.Generator) -> Ints:
        """Return fresh noise."""
        return self._noise.drawn(generator)
