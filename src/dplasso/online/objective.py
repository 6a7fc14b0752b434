"""The objective of the approximate leader: a function of releases and public numbers alone."""

import numpy as np

from dplasso.base import checks
from dplasso.base.arrays import Floats
from dplasso.base.wording import ParameterError


class LeaderObjective:
    """``J(x) = <G, x> + n mu/2 ||x||^2 + m mu/2 ||x - start||^2`` after n rows, G their gradients.

    It is the paper's ``<g, x> + mu/2 sum ||x - x_tau||^2 + C_0 mu/2 ||x - x_1||^2`` for losses with
    an L2 term, f = loss + mu/2 ||x||^2: there ``g = G + mu sum x_tau``, and the regulariser's part
    of g cancels the mixed terms of the squares. So only G and n need to be kept. m is
    ``start_rows``: the starting point weighs like that many rows.
    """

    def __init__(self, regularisation: float, start: Floats, start_rows: float = 0.0) -> None:
        self.regularisation = checks.bound("regularisation", regularisation)
        if not checks.budget("start_rows", start_rows) < np.inf:
            raise ParameterError("{start_rows} must be finite, or weights never leave the start")
        self.start_rows = float(start_rows)
        pull = self.regularisation * self.start_rows * start
        self.pull = pull if np.any(pull) else None

    def curvature(self, rows: float) -> float:
        """Strong-convexity and smoothness constant of J, the same in every direction."""
        return self.regularisation * (rows + self.start_rows)

    def minimiser(self, total: Floats, rows: float) -> Floats:
        """The minimiser of J over all vectors; its projection minimises J over a convex set."""
        inverse = 1.0 / self.curvature(rows)
        if self.pull is None:
            return total * -inverse
        return (self.pull - total) * inverse

    def gradient(self, total: Floats, rows: float, x: Floats) -> Floats:
        """``G + n mu x + m mu (x - start)``."""
        gradient = total + self.curvature(rows) * x
        return gradient if self.pull is None else gradient - self.pull
