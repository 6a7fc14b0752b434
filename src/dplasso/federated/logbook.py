"""What a coordinator has received, on its disk before it is followed."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from dplasso.federated.errors import Refused
from dplasso.federated.terms import Terms
from dplasso.storage.journal import Journal

_ANSWERS, _LOSS = b"a", b"l"


class Loss(NamedTuple):
    """A party that refused or did not come back."""

    party: str
    why: str


class Logbook:
    """Answers, a round at a time, and losses, in the order in which they came."""

    def __init__(self, terms: Terms, path: Path) -> None:
        self._terms, self._journal = terms, Journal(Path(path))
        first = terms.to_json().encode()
        records = list(self._journal.records())
        if not records:
            self._journal.append(first)
        elif records[0] != first:
            self.close()
            raise Refused(
                f"the journal is not of job {terms.job} on these terms; give the job its own"
            )
        self._found = records[1:]

    def entries(self) -> Iterator[dict[str, bytes] | Loss]:
        """What was there when it was opened."""
        for record in self._found:
            kind, content = record[:1], record[1:]
            yield self._answers(content) if kind == _ANSWERS else Loss(*json.loads(content))

    def received(self, answers: Mapping[str, bytes]) -> None:
        """Keep the answers of a round."""
        parts = [
            self._terms.number_of(party).to_bytes(2, "little")
            + len(content).to_bytes(8, "little")
            + content
            for party, content in answers.items()
        ]
        self._journal.append(_ANSWERS + b"".join(parts))

    def lost(self, loss: Loss) -> None:
        """Keep a loss."""
        self._journal.append(_LOSS + json.dumps(loss).encode())

    def close(self) -> None:
        self._journal.close()

    def _answers(self, content: bytes) -> dict[str, bytes]:
        found, place = {}, 0
        while place < len(content):
            number = int.from_bytes(content[place : place + 2], "little")
            length = int.from_bytes(content[place + 2 : place + 10], "little")
            found[self._terms.parties[number].name] = content[place + 10 : place + 10 + length]
            place += 10 + length
        return found
