"""How a job opens: a proposal, the number of features of every party, and terms that all accept."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dplasso.federated.agreement import settle
from dplasso.federated.caps import Caps
from dplasso.federated.coordinator import Coordinator
from dplasso.federated.errors import Refused
from dplasso.federated.messages import Ask, Gave, PartyRelease, PartyRequest
from dplasso.federated.model import PartyModel
from dplasso.federated.party import Party
from dplasso.federated.terms import JobTerms, Proposal, Terms
from dplasso.storage.atomic import replace_file
from dplasso.storage.private_files import make_folder

# Opens a party from its terms and the folder of its release log.
OpenParty = Callable[[Terms, Path], Party]


class OpeningCoordinator:
    """A `Coordinator` that begins with a proposal. Requests follow from that and the answers."""

    def __init__(self, proposal: Proposal) -> None:
        self.proposal, self.parties = proposal, proposal.parties
        self.coordinator: Coordinator | None = None
        self._terms: Terms | None = None
        self._lost: dict[str, str] = {}

    def requests(self) -> dict[str, bytes]:
        """Return the requests of this round by party; none once the job has ended."""
        if self.coordinator is not None:
            return self.coordinator.requests()
        if self._lost:
            return {}
        about: JobTerms = self._terms or self.proposal
        kind = Ask.INTRODUCE if self._terms is None else Ask.AGREE
        return {
            name: PartyRequest(about.digest, number, 0, kind, text=about.to_json()).to_bytes()
            for number, name in enumerate(self.parties)
        }

    def receive(self, answers: Mapping[str, bytes]) -> None:
        """Take the answers of this round."""
        if self.coordinator is not None:
            self.coordinator.receive(answers)
        elif not self._lost:
            self._receive_opening(answers)

    def lose(self, party: str, why: str) -> None:
        """Note that a party refuses or does not come back. The job ends with what there is."""
        if self.coordinator is not None:
            self.coordinator.lose(party, why)
        self._lost.setdefault(party, why)

    def result(self) -> bytes:
        """Return the card as JSON; for a job that never began, the reason."""
        if self.coordinator is not None:
            return self.coordinator.result()
        ended = "; ".join(f"{name}: {why}" for name, why in self._lost.items())
        card = {"job": self.proposal.job, "ended": ended or "not begun", "rounds_done": 0}
        return json.dumps(card, indent=1).encode()

    def _receive_opening(self, answers: Mapping[str, bytes]) -> None:
        if set(answers) != set(self.parties):
            raise Refused("a job opens with the answers of all parties")
        releases = {name: PartyRelease.from_bytes(content) for name, content in answers.items()}
        about: JobTerms = self._terms or self.proposal
        kind = Gave.INTRODUCED if self._terms is None else Gave.AGREED
        for name, release in releases.items():
            expected = (about.digest, about.number_of(name), 0, kind)
            if (release.digest, release.party, release.round, release.kind) != expected:
                raise Refused(f"{name} sent something that does not open this job")
        if self._terms is not None:
            self.coordinator = Coordinator(self._terms)
            return
        try:
            # Parties send entries in units of their bounds, so that every x_bound is 1.
            self._terms = settle(self.proposal, {name: r.feature for name, r in releases.items()})
        except ValueError as error:
            raise Refused(f"no terms follow from the proposal: {error}") from error


@dataclass
class OpeningParty:
    """A `Party` that first decides whether to take part.

    Before it agrees it reveals only the number of features that it declares, which is public. It
    keeps the terms on disk before it agrees to them, and refuses any other terms of the job.
    """

    name: str
    job: str
    n_features: int  # the number that the party declares
    caps: Caps
    folder: Path  # of the terms and the release log
    open_party: OpenParty
    y_bound: float | None = None  # of a party that holds labels
    ended: Callable[[PartyModel], None] | None = None  # called with the model at the end

    def __post_init__(self) -> None:
        self._party: Party | None = None
        self._kept = self.folder / f"{self.job}.terms"
        make_folder(self.folder)
        if self._kept.exists():
            terms = Terms.from_json(self._kept.read_text())
            self.caps.check(terms, self.name)  # the owner may have lowered them since
            self._party = self.open_party(terms, self.folder)

    @property
    def model(self) -> PartyModel:
        """The party's own coefficients, once the job has ended."""
        return self._opened.model

    def answer(self, request: bytes) -> bytes:
        """Return the answer that opens the job, or the release that a request asks for."""
        asked = PartyRequest.from_bytes(request)
        if asked.kind == Ask.INTRODUCE:
            return self._introduce(asked)
        if asked.kind == Ask.AGREE:
            return self._agree(asked)
        answer = self._opened.answer(request)
        if asked.kind == Ask.FINISH and self.ended is not None:
            self.ended(self._opened.model)
        return answer

    def close(self) -> None:
        """PartyRelease the log: the party may be opened again."""
        if self._party is not None:
            self._party.close()

    @property
    def _opened(self) -> Party:
        if self._party is None:
            raise Refused(f"{self.name} has agreed to no terms yet")
        return self._party

    def _introduce(self, asked: PartyRequest) -> bytes:
        proposal = Proposal.from_json(asked.text)
        self._check(proposal, asked)
        self.caps.check_cost(proposal, self.name)
        place = asked.digest, proposal.number_of(self.name), 0
        return PartyRelease(*place, Gave.INTRODUCED, feature=self.n_features).to_bytes()

    def _agree(self, asked: PartyRequest) -> bytes:
        terms = Terms.from_json(asked.text)
        self._check(terms, asked)
        if terms.of(self.name).n_features != self.n_features:
            raise Refused(f"{self.name} refuses terms with another number of features")
        self.caps.check(terms, self.name)
        if self._kept.exists() and self._kept.read_text() != terms.to_json():
            raise Refused(f"{self.name} has agreed to other terms of job {terms.job}")
        if self._party is None:
            replace_file(self._kept, terms.to_json().encode())
            self._party = self.open_party(terms, self.folder)
        return PartyRelease(asked.digest, terms.number_of(self.name), 0, Gave.AGREED).to_bytes()

    def _check(self, about: JobTerms, asked: PartyRequest) -> None:
        """Refuse a proposal or terms of another job, for other parties, or for other labels."""
        if (about.digest, about.job) != (asked.digest, self.job) or self.name not in about.names:
            raise Refused(f"{self.name} refuses terms of another job, or for other parties")
        if about.label_holder != self.name:
            return
        if self.y_bound is None:
            raise Refused(f"{self.name} has no labels")
        if about.y_bound != self.y_bound:
            raise Refused(
                f"{self.name} has labels within {self.y_bound:g}, the job has y_bound "
                f"{about.y_bound:g}"
            )
