"""The L1 ball: sparse weights."""

import math

import numpy as np

from dplasso.base import checks
from dplasso.base.arrays import Floats
from dplasso.domains.base import Domain
from dplasso.kernels import local_moves, projections


class L1Ball(Domain):
    """Vectors of 1-norm at most ``radius``. ``reach`` is sqrt(dimension).

    Parameters
    ----------
    dimension : int
    radius : float

    Examples
    --------
    >>> ball = L1Ball(3, radius=1.0)
    >>> ball.project(np.array([2.0, -1.5, 0.0]))
    array([ 0.75, -0.25,  0.  ])
    >>> ball.linear_oracle(np.array([1.0, -2.0, 0.0]))
    array([0., 1., 0.])
    """

    def __init__(self, dimension: int, radius: float) -> None:
        self.dimension = checks.count("dimension", dimension, 1)
        self.radius = checks.bound("radius", radius)
        self.reach = math.sqrt(self.dimension)

    def start(self) -> Floats:
        return np.zeros(self.dimension)

    def project(self, x: Floats) -> Floats:
        projected: Floats = projections.onto_l1_ball(x, self.radius)
        return projected

    def linear_oracle(self, gradient: Floats) -> Floats:
        best = int(np.argmax(np.abs(gradient)))
        vertex = np.zeros(self.dimension)
        vertex[best] = -math.copysign(self.radius, gradient[best])
        return vertex

    def local_oracle(self, x: Floats, gradient: Floats, radius: float, vertex: Floats) -> Floats:
        """The minimum of ``<gradient, .>`` over points within an L1 distance of x.

        The distance is the largest L1 distance of any y within ``radius``: `_l1_reach`. Every unit
        of it goes onto the vertex while the ball has room. After that each unit needs a second one,
        by which another entry shrinks to make room, the worst entries first. Time and memory grow
        with the dimension, and with sorting the nonzero entries.
        """
        nonzeros, size = local_moves.nonzeros_and_size(x)
        slack = max(self.radius - size, 0.0)
        distance = self._l1_reach(nonzeros, slack, radius)
        if distance >= size + self.radius:  # all of x makes room
            return vertex
        shrink = max(distance - slack, 0.0) / 2.0
        target: Floats = local_moves.take_from_worst(x, gradient, shrink, nonzeros)[0]
        best = int(np.argmax(np.abs(vertex)))
        target[best] += vertex[best] * ((distance - shrink) / self.radius)
        return target

    def _l1_reach(self, nonzeros: int, slack: float, radius: float) -> float:
        """Largest L1 distance from x of a point y of the ball with ``||x - y||_2 <= radius``.

        It is at most sqrt(d) radius. Outside the k nonzeros of x, y has at most the slack plus what
        it lacks on the nonzeros, and there the L1 difference is at most sqrt(k) radius.
        """
        return min(self.reach * radius, slack + 2.0 * math.sqrt(nonzeros) * radius)
