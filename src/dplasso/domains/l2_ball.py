"""The Euclidean ball."""

import math

import numpy as np

from dplasso.base import checks
from dplasso.base.arrays import Floats
from dplasso.domains.base import Domain
from dplasso.kernels import projections


class L2Ball(Domain):
    """Vectors of 2-norm at most ``radius``. The local linear oracle is exact: ``reach`` is 1.

    Parameters
    ----------
    dimension : int
    radius : float

    Examples
    --------
    >>> L2Ball(2, radius=1.0).project(np.array([3.0, 4.0]))
    array([0.6, 0.8])
    """

    reach = 1.0

    def __init__(self, dimension: int, radius: float) -> None:
        self.dimension = checks.count("dimension", dimension, 1)
        self.radius = checks.bound("radius", radius)

    def start(self) -> Floats:
        return np.zeros(self.dimension)

    def project(self, x: Floats) -> Floats:
        projected: Floats = projections.onto_l2_ball(x, self.radius)
        return projected

    def linear_oracle(self, gradient: Floats) -> Floats:
        length = float(np.linalg.norm(gradient))
        if length == 0.0:  # all points are equally good
            gradient, length = np.eye(1, self.dimension)[0], 1.0
        vertex: Floats = gradient * (-self.radius / length)
        return vertex

    def local_oracle(self, x: Floats, gradient: Floats, radius: float, vertex: Floats) -> Floats:
        """The minimum of ``<gradient, .>`` over the intersection of two balls.

        It is the far end of one ball if that lies in the other. Otherwise it lies on the
        intersection of the two spheres, as far against the gradient as possible.
        """
        if float(np.linalg.norm(vertex - x)) <= radius:
            return vertex
        near = x + vertex * (radius / self.radius)
        if float(np.linalg.norm(near)) <= self.radius:
            return near
        return self._where_spheres_meet(x, vertex, radius)

    def _where_spheres_meet(self, x: Floats, vertex: Floats, radius: float) -> Floats:
        square = float(x @ x)
        across = vertex - x * (float(vertex @ x) / square)
        along = (self.radius**2 + square - radius**2) / (2.0 * square)
        width = math.sqrt(max(self.radius**2 - along * along * square, 0.0))
        length = float(np.linalg.norm(across))
        met = along * x + across * (width / length if length > 0.0 else 0.0)
        # Rounding may leave either sphere slightly; callers rely on the distance to x.
        return self.project(met)
