"""What a learner may ask of a convex set."""

from abc import ABC, abstractmethod

from dplasso.base.arrays import Floats
from dplasso.domains.walk import DirectWalk, Walk


class Domain(ABC):
    """A bounded convex set of vectors that can say where in it a linear function is least.

    Attributes
    ----------
    dimension : length of the vectors.
    diameter : largest distance between two points (an upper bound where the docstring says so).
    reach : the rho of the local linear oracle, which looks no farther than ``reach * radius``.
    """

    dimension: int
    diameter: float
    reach: float

    @abstractmethod
    def start(self) -> Floats:
        """A point of the set known without data: where learning starts."""

    @abstractmethod
    def contains(self, x: Floats, tolerance: float = 1e-9) -> bool:
        """Whether ``x`` keeps every constraint up to ``tolerance``."""

    @abstractmethod
    def linear_oracle(self, gradient: Floats) -> Floats:
        """An extreme point v with the least ``<gradient, v>``."""

    @abstractmethod
    def begin(self) -> Walk:
        """A point at `start` that moves by local linear steps."""


class ProjectableDomain(Domain):
    """A domain with a cheap projection and a local linear oracle in closed form."""

    @abstractmethod
    def project(self, x: Floats) -> Floats:
        """The point of the set nearest to ``x``."""

    @abstractmethod
    def local_oracle(
        self, x: Floats, gradient: Floats, radius: float, vertex: Floats | None = None
    ) -> Floats:
        """A point p of the set, as good as any near ``x`` and not far from it.

        For every y of the set with ``||x - y|| <= radius``: ``<p, gradient> <= <y, gradient>``; and
        ``||x - p|| <= reach * radius``. ``vertex`` is what `linear_oracle` says of ``gradient``,
        where it is at hand.
        """

    def begin(self) -> Walk:
        return DirectWalk(self.start(), self.linear_oracle, self.local_oracle)
