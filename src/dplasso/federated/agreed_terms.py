"""What a party has agreed to in a job, on disk before anybody hears of it."""

import json
from dataclasses import dataclass
from pathlib import Path

from dplasso.federated.errors import Refused
from dplasso.federated.joint_spending import Spent
from dplasso.federated.messages import Letters
from dplasso.federated.party_protocols import PartyJobTerms, terms_from_json
from dplasso.storage.atomic import replace_file


@dataclass(frozen=True)
class AgreedTerms:
    """The terms of a job, and what came with them.

    ``introductions`` are those of the other parties, ``spent`` is what this party reports to them,
    ``confirmed`` says whether all of them have confirmed the terms, and ``started`` are the parts
    of the job that all of them have paid for.
    """

    terms: PartyJobTerms
    introductions: Letters
    spent: Spent
    confirmed: bool = False
    started: tuple[str, ...] = ()

    def save(self, path: Path) -> None:
        """Write it, completely or not at all."""
        content = {
            "terms": self.terms.to_json(),
            "introductions": {name: one.hex() for name, one in self.introductions.items()},
            "spent": self.spent,
            "confirmed": self.confirmed,
            "started": list(self.started),
        }
        replace_file(path, json.dumps(content).encode())

    @classmethod
    def load(cls, path: Path) -> "AgreedTerms | None":
        """Read what `save` wrote; None if there is nothing."""
        if not path.exists():
            return None
        try:
            kept = json.loads(path.read_text())
            letters = {name: bytes.fromhex(one) for name, one in kept["introductions"].items()}
            terms = terms_from_json(kept["terms"])
            started = tuple(map(str, kept["started"]))
            return cls(terms, letters, dict(kept["spent"]), kept["confirmed"] is True, started)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise Refused(
                f"job {path.stem} was begun by another version of dplasso; submit it again"
            ) from None
