"""The constants with which the logarithmic regret of local linear steps is proved."""

import math
from dataclasses import dataclass

from dplasso.base import checks
from dplasso.domains import Domain


@dataclass(frozen=True)
class TheoryConstants:
    """Algorithm 2 of the paper, rho being the domain's ``reach``.

    a = 1 / (5 rho^2); C_0 = (25 rho^2)^2; C_1 = 26 rho^2 L (1 + C_W), L for its L + mu D. The
    excess of the objective is then at most eta = C_1^2 / (mu (t + C_0)), so that the last minimiser
    is within sqrt(2 eta / s) of x, s = mu (t + C_0), and the next within L / s of that. Hence
    ``r^2 = 4 eta / s + 2 (L / s)^2``; the paper leaves out the last square.
    """

    share: float
    start_rows: float
    excess: float  # C_1
    lipschitz: float
    regularisation: float

    @classmethod
    def of(
        cls, domain: Domain, regularisation: float, lipschitz: float, noise_factor: float
    ) -> "TheoryConstants":
        regularisation = checks.bound("regularisation", regularisation)
        lipschitz = checks.bound("lipschitz", lipschitz)
        noise_factor = checks.budget("noise_factor", noise_factor)
        square = max(domain.reach, 1.0) ** 2
        return cls(
            share=1.0 / (5.0 * square),
            start_rows=(25.0 * square) ** 2,
            excess=26.0 * square * lipschitz * (1.0 + noise_factor),
            lipschitz=lipschitz,
            regularisation=regularisation,
        )

    def radius(self, rows: int) -> float:
        """How far from the weights the minimiser after ``rows`` rows may be."""
        curvature = self.regularisation * (rows + self.start_rows)
        return math.sqrt(4.0 * self.excess**2 + 2.0 * self.lipschitz**2) / curvature
