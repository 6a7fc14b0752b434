"""The model card: the result of a job at the coordinator."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Card:
    """The model card of a job. All of it may be published.

    Attributes
    ----------
    job : str
        Name of the job.
    terms : dict
        The terms of the job.
    privacy : dict
        The guarantee: epsilon, delta, rho in total and by party, and what it covers.
    ended : str
        "complete", the reason why the job ended early, or "not ended".
    rounds_done : int
        Number of rounds that were answered.
    parties, features : list
        The owner and the number of each shared feature.
    weights : list of float
        Weights in units of the rows' bounds: their absolute values add up to at most ``radius``.
    coefficients : list of float
        The weights in units of the data.
    intercept : float
        The intercept in units of the labels.
    uplink_bytes : dict of str to int
        Bytes of the releases, by party.
    overlap : dict
        The estimated shares of common rows by party, and their standard deviation; empty if rows
        were not counted.
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
    overlap: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> str:
        """Return the card as text."""
        return json.dumps(asdict(self), indent=1, allow_nan=False)
