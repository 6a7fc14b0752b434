"""The server before a job of moments is charged: numbers of people, deals, masked rows."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from dplasso.federated.errors import Refused
from dplasso.federated.framing import framed
from dplasso.federated.messages import Ask, Gave, Letters, PartyRelease, PartyRequest
from dplasso.federated.moments.deal import deals_of
from dplasso.federated.moments.layout import Layout, sliced
from dplasso.federated.moments.numbering import Numbering, numbered
from dplasso.federated.moments.plan import moment_plan
from dplasso.federated.moments.pseudonym_lists import PSEUDONYM_BYTES, read_pseudonyms
from dplasso.federated.moments.terms import MomentTerms
from dplasso.mechanisms.noise_key import NoiseKey

_GAVE = {Ask.ALIGN: Gave.ALIGNED, Ask.DEAL: Gave.DEALT, Ask.MASK: Gave.MASKED}
_DEALT = 0  # name of random bits
SEED_BYTES = 32


class MomentPreparation:
    """Numbers people, deals, and passes masked rows on, slice by slice.

    Nothing here is charged but the noisy number of people. Parties send pseudonyms, whose pattern
    the server sees, and rows that are masked and sealed for other parties. All random numbers
    follow from a seed, so that a server that starts again sends the same bytes.
    """

    def __init__(self, terms: MomentTerms, seed: bytes) -> None:
        self._terms, self._plan, self._layout = terms, moment_plan(terms), Layout(terms)
        self.key = NoiseKey(seed, secure=True)
        self._stage, self._at = Ask.ALIGN, 0
        self._pseudonyms = {name: bytearray() for name in terms.names}
        self._numbering: Numbering | None = None
        self._letters: dict[str, Letters] = {name: {} for name in terms.names}
        self.uplink = dict.fromkeys(terms.names, 0)
        self.done = False

    @property
    def is_measured(self) -> bool:
        """Whether the noisy number of people is known."""
        return self._numbering is not None

    @property
    def fault(self) -> str:
        """Why the job has to end, in words."""
        if self._numbering is None or self._numbering.places is not None:
            return ""
        return (
            f"more people than n_rows: of the {self._plan.n_people:,} that are declared, there are "
            f"about {self._numbering.people:,.0f} or more (+- {self._plan.capacity.sigma:,.0f}); "
            "compare how parties spell identifiers (id_column), or submit again with more n_rows"
        )

    @property
    def facts(self) -> dict[str, Any]:
        """What the card says."""
        known, test = self._numbering, self._plan.capacity
        return {
            "declared_people": self._plan.n_people,
            "capacity": self._terms.n_rows,
            "people": None if known is None else round(known.people, 1),
            "people_noise": test.sigma,
            "remark": "people is a noisy number, paid for; above the capacity it says only that. "
            "Whether the job goes on depends on that number and not on the exact one. The server "
            "sees the exact number of rows of each party, and which rows of different parties "
            "belong to one person, but not to whom.",
        }

    def requests(self) -> dict[str, bytes]:
        """Return the requests of this exchange."""
        return {name: self._request(name) for name in self._terms.names}

    def receive(self, answers: Mapping[str, bytes]) -> None:
        """Take the answers of all parties."""
        releases = {name: self._checked(name, content) for name, content in answers.items()}
        if self._stage is not Ask.ALIGN:  # the number of a party's rows is not for the card
            for name, content in answers.items():
                self.uplink[name] += len(content)
        following: dict[Ask, Callable[[Mapping[str, PartyRelease]], None]] = {
            Ask.ALIGN: self._align,
            Ask.DEAL: lambda releases: self._step(self._layout.deals, Ask.MASK),
            Ask.MASK: self._pass_on,
        }
        following[self._stage](releases)

    def _request(self, party: str) -> bytes:
        given: dict[str, Any] = {}
        if self._stage is Ask.DEAL:
            given["content"] = sliced(self._dealt[party], self._at, self._layout.slice)
        elif self._stage is Ask.MASK:
            given["letters"] = self._letters[party]
        place = self._terms.digest, self._terms.number_of(party), self._at
        return PartyRequest(*place, self._stage, **given).to_bytes()

    def _checked(self, party: str, content: bytes) -> PartyRelease:
        release, terms = PartyRelease.from_bytes(content), self._terms
        expected = terms.digest, terms.number_of(party), self._at, _GAVE[self._stage]
        if (release.digest, release.party, release.round, release.kind) != expected:
            raise Refused(f"{party} sent something that this exchange did not ask for")
        most = self._layout.masked_slice if self._stage is Ask.MASK else self._layout.slice
        if len(release.content) > most or release.letters or len(release.numbers):
            raise Refused(f"{party} sent more than this exchange asks for")
        return release

    def _align(self, releases: Mapping[str, PartyRelease]) -> None:
        for name, release in releases.items():
            self._pseudonyms[name] += release.content
        self._step(self._layout.aligns, Ask.DEAL)
        if self._stage is Ask.DEAL:
            most = self._layout.most_pseudonyms * PSEUDONYM_BYTES
            for name, sent in self._pseudonyms.items():
                if len(sent) > most or len(sent) % PSEUDONYM_BYTES:
                    raise Refused(f"{name} sent something else than pseudonyms")
            names = {name: read_pseudonyms(bytes(one)) for name, one in self._pseudonyms.items()}
            self._numbering = numbered(self._plan, names, self.key)

    def _pass_on(self, releases: Mapping[str, PartyRelease]) -> None:
        self._letters = {
            name: {one: r.content for one, r in releases.items() if one != name and r.content}
            for name in releases
        }
        if self._at == self._layout.masks:
            self.done = True
        self._at += 1

    def _step(self, exchanges: int, following: Ask) -> None:
        self._at += 1
        if self._at == exchanges:
            self._stage, self._at = following, 0

    @cached_property
    def _dealt(self) -> dict[str, bytes]:
        """Deals, each with the places of a party's rows."""
        assert self._numbering is not None and self._numbering.places is not None
        deals = deals_of(self._terms, self.key.generator(_DEALT))
        places = self._numbering.places
        return {
            name: framed(deal.to_bytes(), np.ascontiguousarray(places[name], "<u4").tobytes())
            for name, deal in deals.items()
        }
