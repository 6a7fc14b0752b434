"""The server's noise on the matrix, which makes up for what parties know of theirs."""

import numpy as np

from dplasso.base.arrays import Ints
from dplasso.federated.moments.entries import cross_entries
from dplasso.federated.moments.noise_on_entries import NoiseOnEntries
from dplasso.federated.moments.plan import MomentPlan
from dplasso.mechanisms.grid_gaussian import GridGaussian, NoiseOf


class ServerNoise:
    """Draws the server's noise.

    Formal guarantees
    -----------------
    - Each number on products of two parties is floor(X), X normal of standard deviation
      ``server_sigma`` of the plan, drawn exactly and independently; others get none.
    - It is added to the opened matrix before anything is computed from it, once per job. Whoever
      does not have it faces what `MomentPlan` says; the server, which has it, faces the noise of
      all parties.
    - Assumption: the bits of the generator are fair and known to the server alone.
    """

    def __init__(self, plan: MomentPlan, noise_of: NoiseOf = GridGaussian) -> None:
        parts = [(plan.server_sigma, cross_entries(plan.terms))]
        self._noise = NoiseOnEntries(parts, noise_of)

    def drawn(self, generator: np.random.Generator) -> Ints:
        """Return fresh noise."""
        return self._noise.drawn(generator)
