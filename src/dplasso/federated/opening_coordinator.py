"""How a job opens at the server: terms that all parties accept, confirm and pay for."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace

from dplasso.federated.agreement import settle
from dplasso.federated.coordinator import Coordinator
from dplasso.federated.errors import Refused
from dplasso.federated.messages import Ask, Gave, Letters, PartyRelease, PartyRequest
from dplasso.federated.overlap import Overlap
from dplasso.federated.plan import plan_of
from dplasso.federated.terms import JobTerms, Proposal, Terms
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


class OpeningCoordinator:
    """A `Coordinator` that begins with a proposal. Requests follow from that and the answers.

    All parties introduce themselves, agree to terms, and confirm to each other that these are the
    same, by letters that the server passes on. They charge their ledgers before the first release,
    and none releases anything before all have said to each other that they have paid.
    If rows are counted, the count is charged and released first, and ends the job if too few rows
    are common. A job that does not get through this is ended at every party, with the reason.
    """

    def __init__(self, proposal: Proposal) -> None:
        self.proposal, self.parties = proposal, proposal.parties
        self.coordinator: Coordinator | None = None
        self._stage: Ask | None = Ask.INTRODUCE  # None once all is said
        self._terms: Terms | None = None
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
        return {} if self._stage is None else {name: self._request(name) for name in self._asked}

    def receive(self, answers: Mapping[str, bytes]) -> None:
        """Take the answers of this round."""
        if self.coordinator is not None:
            self.coordinator.receive(answers)
            return
        if self._stage is None or set(answers) != set(self._asked):
            raise Refused("a job opens with the answers of all parties")
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
            return replace(self.coordinator.card(), overlap=overlap).to_json().encode()
        rho, delta = self._charged, self.proposal.delta
        privacy = {
            "epsilon": zcdp.epsilon_of(rho, delta) if rho else 0.0,
            "delta": delta,
            "rho": rho,
            "covers": "the count of common rows" if self._counted else "nothing was released",
        }
        card = {"job": self.proposal.job, "ended": self.ended, "rounds_done": 0}
        return json.dumps({**card, "privacy": privacy, "overlap": overlap}, indent=1).encode()

    @property
    def _asked(self) -> list[str]:
        return [name for name in self.parties if name not in self._lost]

    @property
    def _about(self) -> JobTerms:
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
            Ask.CONFIRM: lambda releases: Ask.BEGIN,
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
        try:
            # Parties send entries in units of their bounds, so that every x_bound is 1.
            self._terms = settle(self.proposal, {name: r.feature for name, r in releases.items()})
        except ValueError as error:
            raise Refused(f"no terms follow from the proposal: {error}") from error
        return Ask.AGREE

    def _measure(self, releases: Mapping[str, PartyRelease]) -> Ask | None:
        assert self._terms is not None
        plan = plan_of(self._terms)
        for name, release in releases.items():
            if len(release.numbers) != plan.count_signs:
                raise Refused(f"{name} sent a count of another size")
        self._overlap = Overlap.of(plan, {name: r.numbers for name, r in releases.items()})
        self._over = self._overlap.fault(self._terms.n_rows, self._terms.min_overlap)
        return Ask.END if self._over else Ask.BEGIN

    @property
    def _part(self) -> str:
        """The part of the job that is due."""
        counts = self._terms is not None and plan_of(self._terms).count_signs > 0
        return "count" if counts and self._overlap is None else "model"

    def _pay(self, releases: Mapping[str, PartyRelease]) -> Ask:
        assert self._terms is not None
        plan = plan_of(self._terms)
        event = plan.count_event if self._part == "count" else plan.model_event
        self._charged += zcdp.rho(event)
        return Ask.START

    def _start(self, releases: Mapping[str, PartyRelease]) -> Ask | None:
        if self._part == "count":
            return Ask.COUNT
        assert self._terms is not None
        self.coordinator = Coordinator(self._terms)
        return None
