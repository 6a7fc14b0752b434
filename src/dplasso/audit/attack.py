"""How well the releases of a fit reveal which of two neighbours was fitted."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from dplasso.audit.certify import Measure
from dplasso.base.arrays import Floats

# For each claimed quantity: a function from two rates to a proved lower bound, and the claim.
Claims = Mapping[str, tuple[Measure, float]]


class Attack(ABC):
    """Runs of a solver on either of two neighbours; each run is scored by its likelihood ratio."""

    @abstractmethod
    def scores(self, side: int, runs: int, tell: Callable[[float], None]) -> Floats:
        """Scores of ``runs`` runs with the canary (side 0) or without it: runs x scores."""

    def details(self) -> dict[str, Any]:
        """Further figures for the report, after the scores were computed."""
        return {}
