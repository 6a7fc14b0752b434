"""The box: every weight lies between two bounds."""

import math

import numpy as np
from numpy.typing import ArrayLike

from dplasso.base import checks
from dplasso.base.arrays import Floats
from dplasso.base.wording import ParameterError
from dplasso.domains.base import Domain


class Box(Domain):
    """Vectors between ``lower`` and ``upper``. ``reach`` is sqrt(dimension).

    Parameters
    ----------
    dimension : int
    lower : float or vector, default 0
    upper : float or vector, default 1

    Examples
    --------
    >>> Box(2, lower=-1.0, upper=[1.0, 2.0]).project(np.array([-3.0, 1.5]))
    array([-1. ,  1.5])
    """

    def __init__(self, dimension: int, lower: ArrayLike = 0.0, upper: ArrayLike = 1.0) -> None:
        self.dimension = checks.count("dimension", dimension, 1)
        self.lower = self._bound("lower", lower)
        self.upper = self._bound("upper", upper)
        if not np.all(self.lower <= self.upper):
            raise ParameterError("{lower} must not be above {upper} in any column; exchange them")
        self.reach = math.sqrt(self.dimension)

    def start(self) -> Floats:
        return (self.lower + self.upper) / 2.0

    def project(self, x: Floats) -> Floats:
        projected: Floats = np.minimum(np.maximum(x, self.lower), self.upper)
        return projected

    def linear_oracle(self, gradient: Floats) -> Floats:
        return np.where(gradient > 0.0, self.lower, self.upper)

    def local_oracle(self, x: Floats, gradient: Floats, radius: float, vertex: Floats) -> Floats:
        """Move every entry by ``radius`` towards the best vertex, or onto it.

        That is the minimum over the cube of half-width ``radius`` around x, which holds the ball.
        """
        # Entries that get there get there exactly: x + (vertex - x) may be off by a rounding.
        way = vertex - x
        return np.where(np.abs(way) <= radius, vertex, x + np.copysign(radius, way))

    def _bound(self, name: str, value: ArrayLike) -> Floats:
        bound = np.asarray(value, np.float64)
        if bound.shape not in ((), (self.dimension,)) or not np.all(np.isfinite(bound)):
            raise ParameterError(
                f"{{{name}}} must be a finite number or {self.dimension} of them, got an array of "
                f"shape {bound.shape}; give one bound for all columns, or one per column"
            )
        return np.ascontiguousarray(np.broadcast_to(bound, (self.dimension,)))
