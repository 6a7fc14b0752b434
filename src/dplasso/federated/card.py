"""What a job leaves behind at the coordinator."""

import json
import math
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Card:
    """What the coordinator knows at the end: all of it may be published.

    ``weights`` are in units of the rows' bounds, so that their sizes add up to ``radius`` at most;
    ``coefficients`` of the same features in units of the data. ``ended`` is "complete", or says why
    the job ended early. Uplink counts the bytes of releases, by party.
    """

    job: str
    terms: dict[str, Any]
    privacy: dict[str, Any]
    ended: str
    rounds_done: int
    parties: list[str]
    features: list[int]
    weights: list[float]
    coefficients: list[float]
    intercept: float
    uplink_bytes: dict[str, int]

    def to_json(self) -> str:
        """The card as text."""
        return json.dumps(asdict(self), indent=1, allow_nan=False)

    @property
    def norm(self) -> float:
        """The 1-norm of all weights."""
        return math.fsum(abs(weight) for weight in self.weights)
