"""The two roles of a federation, as far as a transport has to know them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dplasso.reading.plans import TablePlan


@dataclass(frozen=True)
class Proposal:
    """What a job asks of all parties together, public. What is None follows by public rules."""

    epsilon: float
    delta: float
    rows: int
    labels: str  # the party that holds them
    radius: float = 5.0
    rounds: int | None = None
    tau: int | None = None
    sketch_size: int | None = None
    label_bound: float = 1.0


@dataclass(frozen=True)
class PartySettings:
    """What a party says of itself, in a file of its own: its data, and what may ever leave it.

    ``plan`` says what the columns of its table are; its target is the label column, or none.
    """

    party: str
    data: Path
    id_column: str
    plan: TablePlan
    label_bound: float
    row_budget: float
    max_epsilon: float
    max_delta: float
    secret: Path
    ledger: Path
    state: Path


class Answers(Protocol):
    """A party of one job."""

    def answer(self, request: bytes) -> bytes:
        """Reply to a request.

        What is drawn is on the disk before it is returned, and the same request again gets the same
        bytes. A request that is corrupt, of another job, out of order or beyond what the party
        may release raises `Refused`.
        """
        ...

    def close(self) -> None:
        """Let go of what it holds open; it may be opened again."""
        ...


class Coordinates(Protocol):
    """The server of one job: asks, receives, and has a result at any time.

    What it asks follows from its terms, its job and what it was told, to the byte: after a crash a
    new one is told the same again. What is random in it must come from a seed of the job.
    """

    parties: Sequence[str]

    def requests(self) -> Mapping[str, bytes]:
        """What to ask whom in this round; nothing when the job is done."""
        ...

    def receive(self, answers: Mapping[str, bytes]) -> None:
        """Take the answers of a round, none if all were lost; losses have been told before."""
        ...

    def lose(self, party: str, why: str) -> None:
        """A party refused, or did not come back: go on without it, or end."""
        ...

    def result(self) -> bytes:
        """The model card, of all rounds so far."""
        ...


class OpensParty(Protocol):
    """How a transport gets a party of a job, anew or as it was left."""

    def __call__(self, settings: PartySettings, job: str) -> Answers: ...


class OpensCoordinator(Protocol):
    """How a transport gets the coordinator of a job; `folder` is the job's own."""

    def __call__(
        self, proposal: Proposal, parties: Sequence[str], job: str, folder: Path
    ) -> Coordinates: ...
