"""What the opening of a job asks of a protocol at the server."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from dplasso.federated.job_plan import JobPlan
from dplasso.federated.terms import AmongParties, Proposal

# In the folder of a job: its exchanges so far, from which a server that starts again continues.
TRANSCRIPT = "transcript"


class Offer(NamedTuple):
    """What a party declares when it introduces itself. All of it is public."""

    n_features: int
    attributes: int  # columns of the party's table that make features
    n_classes: int  # of the labels; 0 for numbers, and for a party without labels


class Preparation(Protocol):
    """Exchanges between the first part of a job and the charge for the model."""

    @property
    def done(self) -> bool:
        """Whether all is prepared."""
        ...

    @property
    def is_measured(self) -> bool:
        """Whether a noisy number of people was released."""
        ...

    def requests(self) -> dict[str, bytes]:
        """Return the requests of this exchange, to all parties."""
        ...

    def receive(self, answers: Mapping[str, bytes]) -> None:
        """Take the answers of all parties."""
        ...

    @property
    def fault(self) -> str:
        """Why the job has to end; empty if it may go on."""
        ...

    @property
    def facts(self) -> dict[str, Any]:
        """What the card says about it."""
        ...


class JobCoordinator(Protocol):
    """Runs a job whose parties have paid, and has a card at any time."""

    @property
    def rounds(self) -> tuple[int, int]:
        """How many rounds are done, and of how many."""
        ...

    @property
    def ended(self) -> str:
        """How the job ended, in words."""
        ...

    def requests(self) -> dict[str, bytes]:
        """Return the requests of this round by party; none once the job has ended."""
        ...

    def receive(self, answers: Mapping[str, bytes]) -> None:
        """Take the answers of this round."""
        ...

    def lose(self, party: str, why: str) -> None:
        """Note that a party refuses or does not come back."""
        ...

    def end(self, why: str) -> None:
        """End the job early."""
        ...

    def card(self) -> Any:
        """Return the card: a dataclass with ``overlap`` and ``to_json``."""
        ...


class ServerSide(Protocol):
    """A protocol, as the server runs it."""

    def settle(self, proposal: Proposal, offers: Mapping[str, Offer]) -> AmongParties:
        """Return the terms that follow from a proposal and the parties' offers."""
        ...

    def plan(self, terms: Any) -> JobPlan:
        """Return the account of a job."""
        ...

    def preparation(self, terms: Any) -> Preparation | None:
        """Return what comes before the charge for the model, if anything does."""
        ...

    def coordinator(self, terms: Any, preparation: Any) -> JobCoordinator:
        """Return what runs the job after that charge."""
        ...

    @property
    def statements(self) -> dict[str, Any]:
        """What every card says of the protocol."""
        ...
