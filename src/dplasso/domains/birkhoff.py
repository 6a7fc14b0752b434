"""The Birkhoff polytope: mixtures of permutations."""

import math

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment

from dplasso.base import checks
from dplasso.base.arrays import Floats
from dplasso.domains.base import Domain
from dplasso.domains.mixture import MixtureWalk
from dplasso.domains.walk import Walk


class BirkhoffPolytope(Domain):
    """n x n matrices without negative entries whose rows and columns add up to 1, row after row.

    Its vertices are the permutations, the linear oracle an assignment problem. There is no cheap
    projection. A vertex's entries are 0 or 1, the constraints are single entries, and the
    polytope has (n - 1)^2 dimensions: mass (n - 1) a unit of length, ``reach`` (n - 1) sqrt(2 n).

    >>> BirkhoffPolytope(2).linear_oracle(np.array([3.0, 1.0, 1.0, 3.0])).reshape(2, 2)
    array([[0., 1.],
           [1., 0.]])
    """

    def __init__(self, size: int) -> None:
        self.size = checks.count("size", size, 1)
        self.dimension = self.size**2
        self.diameter = math.sqrt(2.0 * self.size) if self.size > 1 else 0.0
        self.mass_per_length = float(max(self.size - 1, 1))
        self.reach = self.mass_per_length * self.diameter

    def start(self) -> Floats:
        return np.full(self.dimension, 1.0 / self.size)

    def contains(self, x: Floats, tolerance: float = 1e-9) -> bool:
        matrix = x.reshape(self.size, self.size)
        sums = np.concatenate([matrix.sum(axis=0), matrix.sum(axis=1)])
        return bool(x.min() >= -tolerance) and bool(np.all(np.abs(sums - 1.0) <= tolerance))

    def linear_oracle(self, gradient: Floats) -> Floats:
        rows, columns = linear_sum_assignment(gradient.reshape(self.size, self.size))
        vertex = np.zeros(self.dimension)
        vertex[rows * self.size + columns] = 1.0
        return vertex

    def begin(self) -> Walk:
        """At the centre: the n cyclic permutations in equal parts."""
        places = np.arange(self.size)
        cyclic = np.zeros((self.size, self.size, self.size))
        for turn in places:
            cyclic[turn, places, (places + turn) % self.size] = 1.0
        vertices = sp.csr_array(cyclic.reshape(self.size, self.dimension))
        weights = np.full(self.size, 1.0 / self.size)
        return MixtureWalk(vertices, weights, self.linear_oracle, self.mass_per_length)
