"""Two neighbours, and how well the releases of a fit say which of them was fitted."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from dplasso.audit.certify import Measure
from dplasso.base.arrays import Floats

# By what is claimed: how two rates prove a lower bound on it, and the claim.
Claims = Mapping[str, tuple[Measure, float]]


class Attack(ABC):
    """Runs of a solver on one of two neighbours, each scored by its likelihood ratio."""

    @abstractmethod
    def scores(self, side: int, runs: int, tell: Callable[[float], None]) -> Floats:
        """Scores of so many runs with the canary (side 0) or without it: runs x scores."""

    def details(self) -> dict[str, Any]:
        """Further figures for the report, once there are scores."""
        return {}
