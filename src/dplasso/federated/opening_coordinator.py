"""How a job opens at the server: terms that all parties accept, confirm and pay for."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any, ClassVar

from dplasso.federated.agreement import PROTOCOL_RULE, protocol_for, settle
from dplasso.federated.coordinator import Coordinator
from dplasso.federated.errors import Refused
from dplasso.federated.job_plan import JobPlan
from dplasso.federated.messages import Ask, Gave, Letters, PartyRelease, PartyRequest
from dplasso.federated.overlap import Overlap
from dplasso.federated.plan import plan_of
from dplasso.federated.server_side import JobCoordinator, Offer, Preparation, ServerSide
from dplasso.federated.terms import AmongParties, Proposal, Terms
from dplasso.privacy import zcdp

_ANSWERS = {
    Ask.INTRODUCE: Gave.INTRODUCED,
    Ask.AGREE: Gave.AGREED,
    Ask.CONFIRM: Gave.CONFIRMED,
    Ask.BEGIN: Gave.BEGUN,
    Ask.START: Gave.STARTED,
    Ask.COUNT: Gave.COUNTED,
    Ask.END: Gave.ENDED,
}


_NOT_COUNTED = {
    "shares": None,
    "remark": "rows were not counted: min_overlap is 0, the job ended before, or for so few rows "
    "and so small an epsilon a count would be noise",
}


class Sketches:
    """The protocol of sketches at the server."""

    statements: ClassVar[dict[str, Any]] = {"protocol": "sketches", "rule": PROTOCOL_RULE}

    def settle(self, proposal: Proposal, offers: Mapping[str, Offer]) -> Terms:
        """Return the terms. Parties send entries in units of their bounds: every x_bound is 1."""
        if proposal.colluders != 1:
            raise ValueError("colluders is a term of moments; leave it out, or choose moments")
        if offers[proposal.label_holder].n_classes > 2:
            raise ValueError(
                "sketches predict one number, and the labels have more than two classes; use "
                "moments, with at most 1,000 columns of all parties"
            )
        return settle(proposal, {name: offer.n_features for name, offer in offers.items()})

    plan = staticmethod(plan_of)

    def preparation(self, terms: Terms) -> None:
        """Nothing comes before the charge for the model."""

    def coordinator(self, terms: Terms, preparation: None) -> Coordinator:
        """Return what runs the rounds."""
        return Coordinator(terms)


class OpeningCoordinator:
    """A job that begins with a proposal. Requests follow from that and the answers.

    All parties introduce themselves, agree to terms, and confirm to each other that these are the
    same, by letters that the server passes on. They charge their ledgers before the first release,
    and none releases anything before all have said to each other that they have paid.
    If rows are counted, the count is charged and released first, and ends the job if too few rows
    are common. A protocol may then prepare the job, before all of it is charged. A job that does
    not get through this is ended at every party, with the reason. Then the protocol takes over.
    """

    def __init__(
        self, proposal: Proposal, protocols: Mapping[str, ServerSide] | None = None
    ) -> None:
        self.proposal, self.parties = proposal, proposal.parties
        self._protocols = protocols or {"sketches": Sketches()}
        self._protocol: ServerSide | None = None  # once terms are settled
        self.coordinator: JobCoordinator | None = None
        self._stage: Ask | None = Ask.INTRODUCE  # None once all is said
        self._terms: AmongParties | None = None
        self._preparation: Preparation | None = None
        self._first_part_done = False
        self._letters: dict[str, Letters] = {name: {} for name in self.parties}
        self._overlap: Overlap | None = None
        self._charged = 0.0  # rho
        self._counted = False
        self._lost: dict[str, str] = {}
        self._over = ""  # why the job ends before it has begun

    def requests(self) -> dict[str, bytes]:
        """Return the requests of this round by party; none once the job has ended."""
        if self.coordinator is not None:
            return self.coordinator.requests()
        if self._stage is Ask.MASK:
            assert self._preparation is not None
            prepared = self._preparation.requests()
            return {name: prepared[name] for name in self._asked}
        return {} if self._stage is None else {name: self._request(name) for name in self._asked}

    def receive(self, answers: Mapping[str, bytes]) -> None:
        """Take the answers of this round."""
        if self.coordinator is not None:
            self.coordinator.receive(answers)
            return
        if self._stage is None or set(answers) != set(self._asked):
            raise Refused("a job opens with the answers of all parties")
        if self._stage is Ask.MASK:
            self._prepare(answers)
            return
        releases = {name: self._checked(name, content) for name, content in answers.items()}
        self._counted |= self._stage is Ask.COUNT
        if self._stage is Ask.END:
            self._stage = None
        elif self._lost:
            self.end(self._reasons)
        else:
            self._follow(releases)

    def lose(self, party: str, why: str) -> None:
        """Note that a party refuses or does not come back. The job ends with what there is."""
        if self.coordinator is not None:
            self.coordinator.lose(party, why)
        self._lost.setdefault(party, why)

    def end(self, why: str) -> None:
        """End the job early; the parties are told why, and get what weights there are."""
        if self.coordinator is not None:
            self.coordinator.end(why)
        elif self._stage is not None:
            self._over = why
            self._stage = Ask.END if self._asked else None

    @property
    def rounds(self) -> tuple[int, int | None]:
        """How many rounds are done, and of how many; None before the terms are agreed."""
        if self.coordinator is not None:
            return self.coordinator.rounds
        return 0, self._about.rounds

    @property
    def ended(self) -> str:
        """How the job ended, in words."""
        if self.coordinator is not None:
            return self.coordinator.ended
        return self._over or self._reasons or "not ended"

    def result(self) -> bytes:
        """Return the card as JSON; for a job that never began, the reason and the cost."""
        overlap = _NOT_COUNTED if self._overlap is None else asdict(self._overlap)
        if self.coordinator is not None:
            assert self._protocol is not None
            card = json.loads(replace(self.coordinator.card(), overlap=overlap).to_json())
            return json.dumps({**self._protocol.statements, **card}, indent=1).encode()
        rho, delta = self._charged, self.proposal.delta
        privacy = {
            "epsilon": zcdp.epsilon_of(rho, delta) if rho else 0.0,
            "delta": delta,
            "rho": rho,
            "covers": self._released,
        }
        told = {"job": self.proposal.job, "ended": self.ended, "rounds_done": 0}
        told |= {} if self._protocol is None else self._protocol.statements
        told |= {"privacy": privacy, "overlap": overlap}
        if self._preparation is not None:
            told["alignment"] = self._preparation.facts
        return json.dumps(told, indent=1).encode()

    @property
    def _released(self) -> str:
        parts = ["the count of common rows"] if self._counted else []
        if self._preparation is not None and self._preparation.is_measured:
            parts.append("about how many people there are")
        return ", and ".join(parts) or "nothing was released"

    @property
    def _asked(self) -> list[str]:
        return [name for name in self.parties if name not in self._lost]

    @property
    def _about(self) -> AmongParties:
        return self._terms or self.proposal

    @property
    def _reasons(self) -> str:
        return "; ".join(f"{name}: {why}" for name, why in self._lost.items())

    def _request(self, party: str) -> bytes:
        assert self._stage is not None
        about, texts = self._about, {Ask.END: self._over}
        texts |= dict.fromkeys((Ask.INTRODUCE, Ask.AGREE), about.to_json())
        texts |= dict.fromkeys((Ask.BEGIN, Ask.START), self._part)
        place = about.digest, about.number_of(party), 0
        text, letters = texts.get(self._stage, ""), self._letters[party]
        return PartyRequest(*place, self._stage, text=text, letters=letters).to_bytes()

    def _checked(self, party: str, content: bytes) -> PartyRelease:
        release = PartyRelease.from_bytes(content)
        about = self._about
        assert self._stage is not None
        expected = (about.digest, about.number_of(party), 0, _ANSWERS[self._stage])
        if (release.digest, release.party, release.round, release.kind) != expected:
            raise Refused(f"{party} sent something that does not open this job")
        if not set(release.letters) <= set(self.parties) - {party}:
            raise Refused(f"{party} sent letters to others than the parties of this job")
        return release

    def _follow(self, releases: Mapping[str, PartyRelease]) -> None:
        following: dict[Ask, Callable[[Mapping[str, PartyRelease]], Ask | None]] = {
            Ask.INTRODUCE: self._settle,
            Ask.AGREE: lambda releases: Ask.CONFIRM,
            Ask.CONFIRM: self._open,
            Ask.BEGIN: self._pay,
            Ask.START: self._start,
            Ask.COUNT: self._measure,
        }
        assert self._stage is not None
        self._letters = {
            name: {one: r.letters[name] for one, r in releases.items() if name in r.letters}
            for name in self.parties
        }
        self._stage = following[self._stage](releases)

    def _settle(self, releases: Mapping[str, PartyRelease]) -> Ask:
        offers = {name: _offer(name, release) for name, release in releases.items()}
        name = protocol_for(self.proposal, offers)
        if name not in self._protocols:
            raise Refused(f"this server does not run the protocol {name}")
        protocol = self._protocols[name]
        try:
            terms = protocol.settle(self.proposal, offers)
            protocol.plan(terms)
        except ValueError as error:
            raise Refused(f"no terms follow from the proposal: {error}") from error
        self._protocol, self._terms = protocol, terms
        return Ask.AGREE

    def _measure(self, releases: Mapping[str, PartyRelease]) -> Ask:
        plan = self._plan
        for name, release in releases.items():
            if len(release.numbers) != plan.count.signs:
                raise Refused(f"{name} sent a count of another size")
        self._overlap = Overlap.of(plan, {name: r.numbers for name, r in releases.items()})
        self._over = self._overlap.fault(plan.n_people, plan.terms.min_overlap)
        return Ask.END if self._over else self._go_on()

    def _go_on(self) -> Ask:
        """Prepare the model, if there is something to prepare, or have it paid for."""
        assert self._protocol is not None
        self._preparation = self._protocol.preparation(self._terms)
        self._first_part_done = self._preparation is None
        return Ask.BEGIN if self._preparation is None else Ask.MASK

    def _prepare(self, answers: Mapping[str, bytes]) -> None:
        assert self._preparation is not None
        if self._lost:
            self.end(self._reasons)
            return
        self._preparation.receive(answers)
        if self._preparation.fault:
            self.end(self._preparation.fault)
        elif self._preparation.done:
            self._first_part_done, self._stage = True, Ask.BEGIN
            self._letters = {name: {} for name in self.parties}

    @property
    def _plan(self) -> JobPlan:
        assert self._protocol is not None
        return self._protocol.plan(self._terms)

    @property
    def _part(self) -> str:
        """The part of the job that is due."""
        return "model" if self._first_part_done else "count"

    def _pay(self, releases: Mapping[str, PartyRelease]) -> Ask:
        plan = self._plan
        event = plan.count_event if self._part == "count" else plan.model_event
        self._charged += zcdp.rho(event)
        return Ask.START

    def _start(self, releases: Mapping[str, PartyRelease]) -> Ask | None:
        if self._part == "count":
            return Ask.COUNT if self._plan.count.signs else self._go_on()
        assert self._protocol is not None
        self.coordinator = self._protocol.coordinator(self._terms, self._preparation)
        return None

    def _open(self, releases: Mapping[str, PartyRelease]) -> Ask:
        return Ask.BEGIN if self._plan.has_first_part else self._go_on()


def _offer(party: str, release: PartyRelease) -> Offer:
    if len(release.numbers) != 2:
        raise Refused(f"{party} did not say how many attributes and classes it has")
    offer = Offer(release.feature, *map(int, release.numbers))
    # Noise follows from the number of attributes: a party may not drown the others in it.
    if not 1 <= offer.attributes <= offer.n_features or offer.n_classes < 0:
        raise Refused(f"{party} declares more attributes than features, or none")
    return offer
