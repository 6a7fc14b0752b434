"""The server of a job of moments that is paid for: it collects shares, and hands out weights."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from dplasso.base.arrays import Floats
from dplasso.federated.errors import Refused
from dplasso.federated.messages import Ask, Gave, PartyRelease, PartyRequest
from dplasso.federated.moments.card import MomentCard
from dplasso.federated.moments.layout import Layout
from dplasso.federated.moments.model import MomentModel
from dplasso.federated.moments.plan import moment_plan
from dplasso.federated.moments.server import opened
from dplasso.federated.moments.terms import MomentTerms
from dplasso.federated.moments.weights import fit_moments
from dplasso.mechanisms.grid_gaussian import GridGaussian, NoiseOf
from dplasso.mechanisms.noise_key import NoiseKey
from dplasso.privacy import zcdp
from dplasso.privacy.statement import jsonable

_GAVE = {Ask.SHARE: Gave.PART, Ask.FINISH: Gave.STORED, Ask.END: Gave.ENDED}


class MomentCoordinator:
    """Asks for the shares of all parties, opens their sum, and sends each party its weights.

    Without the shares of all parties nothing is opened: a job that loses a party before that ends
    without weights. Requests follow, to the byte, from the terms, the answers and the server's key.

    Formal guarantees
    -----------------
    Shares, and their sum, stay with the server. Weights, odds and the card are computed from the
    sum plus the server's noise (`MomentServer`), which follows from the key: a server that starts
    again with the same key adds the same noise, and sends the same weights.
    """

    def __init__(
        self,
        terms: MomentTerms,
        uplink: Mapping[str, int],
        alignment: Mapping[str, Any],
        key: NoiseKey,
        noise_of: NoiseOf = GridGaussian,
    ) -> None:
        self.terms, self.parties = terms, terms.names
        self._key, self._noise_of = key, noise_of
        self._layout, self._alignment = Layout(terms), dict(alignment)
        self._stage, self._at = Ask.SHARE, 0
        self._shares = {name: bytearray() for name in terms.names}
        self._uplink = dict(uplink)
        self.model: MomentModel | None = None
        self.done = False
        self._lost: dict[str, str] = {}
        self._stopped = ""

    def requests(self) -> dict[str, bytes]:
        """Return the requests of this round by party; none once the job has ended."""
        return {} if self.done else {name: self._request(name) for name in self._asked}

    def receive(self, answers: Mapping[str, bytes]) -> None:
        """Take the answers of this round, from all parties that were asked and not lost."""
        if self.done or set(answers) != set(self._asked):
            raise Refused("a round needs the answers of all parties that were asked, and no others")
        releases = {name: self._checked(name, content) for name, content in answers.items()}
        for name, content in answers.items():
            self._uplink[name] += len(content)
        if self._stage is not Ask.SHARE:
            self.done = True
        elif self._lost:
            self._go_to_end()
        else:
            self._collect(releases)

    def lose(self, party: str, why: str) -> None:
        """Note that a party refuses or does not come back: without its share there is no model."""
        self.terms.number_of(party)  # raises for a party that takes no part
        if not self.done:
            self._lost.setdefault(party, why)

    def end(self, why: str) -> None:
        """End the job; weights that there are go to the parties."""
        if not self.done:
            self._stopped = why
            self._go_to_end()

    @property
    def rounds(self) -> tuple[int, int]:
        """How many matrices are opened, and of how many: one."""
        return int(self.model is not None), 1

    @property
    def ended(self) -> str:
        """How the job ended, in words."""
        lost = "; ".join(f"{party}: {why}" for party, why in self._lost.items())
        whole = self.model is not None and self._stage is Ask.FINISH
        return self._stopped or lost or ("complete" if whole else "not ended")

    def card(self) -> MomentCard:
        """Return the card."""
        model, terms = self.model, self.terms
        parts = (
            None if model is None else {name: model.part(name).tolist() for name in self.parties}
        )
        odds = None
        if model is not None and model.odds is not None:
            odds = {name: part.tolist() for name, part in model.odds._asdict().items()}
        return MomentCard(
            job=terms.job,
            terms=json.loads(terms.to_json()),
            privacy=self._privacy(),
            ended=self.ended,
            rounds_done=int(model is not None),
            coefficients=parts,
            intercepts=None if model is None else model.intercepts.tolist(),
            odds=odds,
            uplink_bytes=dict(self._uplink),
            alignment=self._alignment,
        )

    @property
    def _asked(self) -> list[str]:
        return [name for name in self.parties if name not in self._lost]

    def _go_to_end(self) -> None:
        self._stage, self._at = (Ask.END, 0) if self.model is None else (Ask.FINISH, 0)
        self.done = not self._asked

    def _request(self, party: str) -> bytes:
        given: dict[str, Any] = {}
        if self._stage is not Ask.SHARE:
            given["text"] = self.ended
        if self._stage is Ask.FINISH:
            given["numbers"] = self._weights_of(party)
        place = self.terms.digest, self.terms.number_of(party), self._at
        return PartyRequest(*place, self._stage, **given).to_bytes()

    def _checked(self, party: str, content: bytes) -> PartyRelease:
        release = PartyRelease.from_bytes(content)
        expected = self.terms.digest, self.terms.number_of(party), self._at, _GAVE[self._stage]
        if (release.digest, release.party, release.round, release.kind) != expected:
            raise Refused(f"{party} sent a release that this round did not ask for")
        if len(release.content) > self._layout.slice:
            raise Refused(f"{party} sent more than a slice of a share")
        return release

    def _collect(self, releases: Mapping[str, PartyRelease]) -> None:
        for name, release in releases.items():
            self._shares[name] += release.content
        self._at += 1
        if self._at == self._layout.shares:
            shares = {name: bytes(share) for name, share in self._shares.items()}
            moments = opened(self.terms, shares, self._key, self._noise_of)
            self.model = fit_moments(moments, radius=self.terms.radius)
            self._stage, self._at = Ask.FINISH, 0

    def _weights_of(self, party: str) -> Floats:
        assert self.model is not None
        parts = [self.model.part(party).ravel()]
        if party == self.terms.label_holder:
            parts += [self.model.intercepts, *(self.model.odds or ())]
        return np.concatenate(parts)

    def _privacy(self) -> dict[str, Any]:
        plan, terms = moment_plan(self.terms), self.terms
        return {
            "epsilon": jsonable(terms.epsilon),
            "delta": terms.delta,
            "rho": jsonable(zcdp.rho(plan.event)),
            "colluders": terms.colluders,
            "epsilon_to_colluders": jsonable(plan.epsilon_to(terms.colluders)),
            "epsilon_to_a_party": jsonable(plan.epsilon_to(1)),
            "epsilon_to_server": jsonable(plan.epsilon_to_server),
            "epsilon_to_outsiders": jsonable(plan.epsilon_to(0)),
            "neighboring": "a person's rows are present at all parties, or at none; to parties, "
            "which know their own rows, this is about those at the other parties",
            "covers": "everything that is opened in this job, and everything computed from it; the "
            "server sees more: which rows belong together",
        }
