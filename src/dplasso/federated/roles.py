"""The two roles of a federation, as far as a transport has to know them."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from dplasso.federated.party_settings import PartySettings
from dplasso.federated.terms import Proposal


class Answers(Protocol):
    """A party of one job."""

    def answer(self, request: bytes) -> bytes:
        """Reply to a request.

        Every draw is on disk before it is returned, and the same request always gets the same
        bytes. A request that is corrupt, out of order, of another job or beyond the party's limits
        raises `Refused`.
        """
        ...

    def close(self) -> None:
        """Release all files; the party may be opened again."""
        ...


class Coordinates(Protocol):
    """The server of one job: it asks, receives, and has a result at any time.

    Its requests follow, to the byte, from its proposal and from the answers it received. After a
    crash a new coordinator receives the same answers again. Its randomness must come from a seed of
    the job.
    """

    parties: Sequence[str]

    @property
    def ended(self) -> str:
        """How the job ended, in words: "complete" if it ran to its end."""
        ...

    @property
    def rounds(self) -> tuple[int, int | None]:
        """How many rounds are done, and of how many; None while that is not agreed yet."""
        ...

    def requests(self) -> Mapping[str, bytes]:
        """Return the requests of this round by party; none when the job has ended."""
        ...

    def receive(self, answers: Mapping[str, bytes]) -> None:
        """Take the answers of a round, none if all were lost. `lose` is called before."""
        ...

    def lose(self, party: str, why: str) -> None:
        """Continue without a party that refused or did not come back, or end the job."""
        ...

    def end(self, why: str) -> None:
        """End the job early; the requests that are left tell the parties so."""
        ...

    def result(self) -> bytes:
        """Return the model card of all rounds so far."""
        ...


# How a transport opens a party of a job by its name, new or as it was left.
OpensParty = Callable[[PartySettings, str], Answers]
# How it opens the coordinator of a job, which may keep files in a folder of the job.
OpensCoordinator = Callable[[Proposal, Path], Coordinates]
