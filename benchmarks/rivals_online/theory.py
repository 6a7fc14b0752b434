"""The constants of the window paper's proofs, which the product does not use, to be measured.

Algorithm 2 of the paper, rho being the domain's ``reach``: a = 1 / (5 rho^2); C_0 = (25 rho^2)^2;
C_1 = 26 rho^2 L (1 + C_W), L for its L + mu D. The excess of the objective is then at most
eta = C_1^2 / (mu (t + C_0)), so that the last minimiser is within sqrt(2 eta / s) of x,
s = mu (t + C_0), and the next within L / s of that. Hence ``r^2 = 4 eta / s + 2 (L / s)^2``; the
paper leaves out the last square.
"""

import math

import numpy as np

from dplasso.domains import Box, Domain, L1Ball, L2Ball, Simplex
from dplasso.online import Leader


class TheoryLeader(Leader):
    """Local linear steps with the paper's constants.

    ``lipschitz`` bounds a row's gradient with its L2 term: clip + mu max ||x||. ``noise_factor``
    is the paper's C_W: how much longer releases may be because of their noise.
    """

    def __init__(
        self, domain: Domain, regularisation: float, lipschitz: float, noise_factor: float = 0.0
    ) -> None:
        square = max(domain.reach, 1.0) ** 2
        super().__init__(domain, regularisation, start_rows=(25.0 * square) ** 2)
        self.share, self.lipschitz = 1.0 / (5.0 * square), lipschitz
        self.excess = 26.0 * square * lipschitz * (1.0 + noise_factor)  # C_1

    def follow(self, total: np.ndarray, rows: int) -> None:
        gradient = self.objective.gradient(total, rows, self.weights)
        target = self.domain.local_oracle(
            self.weights, gradient, self.radius(rows), self.domain.linear_oracle(gradient)
        )
        self.weights = (1.0 - self.share) * self.weights + self.share * target

    def radius(self, rows: int) -> float:
        """How far from the weights the minimiser after ``rows`` rows may be."""
        squares = 4.0 * self.excess**2 + 2.0 * self.lipschitz**2
        return math.sqrt(squares) / self.objective.curvature(rows)


def steadying_rows(domain: Domain, regularisation: float, noise: float) -> float:
    """Rows that the start should weigh like, for noise of this standard deviation per entry.

    After n rows the noise moves the minimiser by ``noise sqrt(d) / (mu (n + start_rows))``. So many
    rows of the start hold that to half the diameter from the first row.
    """
    return noise * math.sqrt(domain.dimension) / (regularisation * diameter_of(domain) / 2.0)


def diameter_of(domain: Domain) -> float:
    """Largest distance between two points of the set."""
    match domain:
        case Box():
            return float(np.linalg.norm(domain.upper - domain.lower))
        case Simplex():
            return math.sqrt(2.0) * domain.total if domain.dimension > 1 else 0.0
        case L1Ball() | L2Ball():
            return 2.0 * domain.radius
    raise ValueError(f"the diameter of {type(domain).__name__} is not known")
