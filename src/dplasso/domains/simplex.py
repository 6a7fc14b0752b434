"""The simplex: weights of a mixture."""

import math

import numpy as np

from dplasso.base import checks
from dplasso.base.arrays import Floats
from dplasso.domains.base import Domain
from dplasso.kernels import local_moves, projections


class Simplex(Domain):
    """Vectors without negative entries whose sum is ``total``. ``reach`` is sqrt(dimension / 2).

    Parameters
    ----------
    dimension : int
    total : float, default 1

    Examples
    --------
    >>> Simplex(3).project(np.array([0.9, 0.5, -1.0]))
    array([0.7, 0.3, 0. ])
    """

    def __init__(self, dimension: int, total: float = 1.0) -> None:
        self.dimension = checks.count("dimension", dimension, 1)
        self.total = checks.bound("total", total)
        self.reach = math.sqrt(self.dimension / 2.0)

    def start(self) -> Floats:
        return np.full(self.dimension, self.total / self.dimension)

    def project(self, x: Floats) -> Floats:
        projected: Floats = projections.onto_simplex(x, self.total)
        return projected

    def linear_oracle(self, gradient: Floats) -> Floats:
        vertex = np.zeros(self.dimension)
        vertex[np.argmin(gradient)] = self.total
        return vertex

    def local_oracle(self, x: Floats, gradient: Floats, radius: float, vertex: Floats) -> Floats:
        """Move mass from the worst entries to the best one; entries of x are vertex weights.

        To reach any y within ``radius``, half their L1 distance has to move: at most
        sqrt(d) radius / 2, and at most sqrt(k) radius off the k nonzeros of x. The change of the
        entries that give has at most that 2-norm, and so has that of the entry that takes: hence
        sqrt(2) sqrt(d) / 2.
        """
        nonzeros, _ = local_moves.nonzeros_and_size(x)
        mass = radius * min(math.sqrt(self.dimension) / 2.0, math.sqrt(nonzeros))
        target: Floats
        target, taken = local_moves.take_from_worst(x, gradient, mass, nonzeros)
        target[np.argmax(vertex)] += taken
        return target
