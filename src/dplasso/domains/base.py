"""The interface of a convex set."""

from abc import ABC, abstractmethod

from dplasso.base.arrays import Floats


class Domain(ABC):
    """A bounded convex set of vectors with a projection and a local linear oracle.

    Attributes
    ----------
    dimension : int
        Length of the vectors.
    reach : float
        The rho of the local linear oracle, which moves by at most ``reach * radius``.
    """

    dimension: int
    reach: float

    @abstractmethod
    def start(self) -> Floats:
        """The point where learning starts; it does not depend on data."""

    @abstractmethod
    def project(self, x: Floats) -> Floats:
        """The point of the set nearest to ``x``."""

    @abstractmethod
    def linear_oracle(self, gradient: Floats) -> Floats:
        """An extreme point v with the smallest ``<gradient, v>``."""

    @abstractmethod
    def local_oracle(self, x: Floats, gradient: Floats, radius: float, vertex: Floats) -> Floats:
        """A point p of the set that is at least as good as any point near ``x``, and close to it.

        For every y of the set with ``||x - y|| <= radius``: ``<p, gradient> <= <y, gradient>``; and
        ``||x - p|| <= reach * radius``. ``vertex`` is the result of `linear_oracle` for
        ``gradient``.
        """
