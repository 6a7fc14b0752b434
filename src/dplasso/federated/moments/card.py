"""The model card of a job of moments."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from dplasso.federated.agreement import PROTOCOL_RULE

TRUST = (
    "The server together with any one party can read the tables of all parties, without noise.",
    "Parties follow the protocol and keep their bounds. A party that ignores its own bound can "
    "read a person's entries at other parties from the model.",
    "The server deals random numbers and numbers people honestly, and tells nobody.",
    "The server adds noise of its own to the matrix that parties open, and gives nothing away that "
    "is computed without this noise. Otherwise the parties that epsilon_to_colluders is for, which "
    "know their own noise, face more than that. Parties cannot check it.",
    "The server sees how many rows each party has, and which rows of different parties belong to "
    "one person. It sees no identifiers.",
    "Parties draw their noise. Towards other parties and outsiders, a party that draws none counts "
    "as one of the colluders. The server then faces less noise than was promised on products of "
    "columns of two parties: (K-1)/K of its variance, for K parties. Products of the silent "
    "party's own columns are not protected from anyone.",
)
STATEMENTS: dict[str, Any] = {"protocol": "moments", "rule": PROTOCOL_RULE, "trust": list(TRUST)}


@dataclass(frozen=True)
class MomentCard:
    """The card of a job that its parties have paid for. All of it may be published.

    ``coefficients`` are by party, a list for each of its features with a number for each column of
    labels: for entries in units of their public bounds, centred where they have a range.
    Each party's entries are about means that it keeps to itself, so that scores of new rows need
    the models of all parties. ``intercepts`` and ``odds`` have a number for each column of labels.
    All three are None if the job ended before the matrix was opened. ``uplink_bytes`` are without
    pseudonyms, whose number is that of a party's rows; the others follow from the terms.
    ``privacy`` has epsilon to c parties together, to one party, to the server and to outsiders,
    each at most what was promised if the terms allow one colluder.
    """

    job: str
    terms: dict[str, Any]
    privacy: dict[str, Any]
    ended: str
    rounds_done: int
    coefficients: dict[str, list[list[float]]] | None
    intercepts: list[float] | None
    odds: dict[str, list[float]] | None
    uplink_bytes: dict[str, int]
    alignment: dict[str, Any]
    overlap: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> str:
        """Return the card as text."""
        return json.dumps(asdict(self), indent=1, allow_nan=False)
