"""The coordinator: it asks, computes weights from the releases, and never sees a row."""

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dplasso.base.arrays import Floats
from dplasso.federated.card import Card
from dplasso.federated.count_plan import ENTRY
from dplasso.federated.errors import Refused
from dplasso.federated.messages import Ask, Gave, PartyRelease, PartyRequest
from dplasso.federated.plan import centre_of, plan_of
from dplasso.federated.quantisation import Quantiser
from dplasso.federated.sampling import Sampling
from dplasso.federated.terms import Terms
from dplasso.federated.weights import Feature, weights_for
from dplasso.privacy import zcdp
from dplasso.privacy.statement import jsonable

# A residual is clipped at this multiple of its standard deviation before it weights rows.
_CLIP = 0.7


class Coordinator:
    """Runs a job: it decides what to ask next, and what follows from the answers.

    Round 0 asks the label holder for the sketch of the labels, rounds 1 to T ask the parties on the
    schedule, and the last round sends every party its weights, and how the job ended. The requests
    follow, to the byte, from the terms and the answers: a new coordinator that receives the same
    answers is where this one was.

    Formal guarantees
    -----------------
    The coordinator has no rows, no identifiers and no secret. Requests, weights and the card are
    functions of the terms and of the releases: post-processing, at no further cost.
    """

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.parties = terms.names
        self._plan, self._sampling = plan_of(terms), Sampling(terms)
        self._quantiser = Quantiser(terms)
        self.weights = weights_for(terms, self._plan.sketch_sigma)
        self._round, self._followed = 0, 0
        self._means: list[float] = []
        self._label_mean = 0.0
        self._uplink = dict.fromkeys(self.parties, 0)
        self._lost: dict[str, str] = {}
        self._stopped = ""  # why, if somebody has ended the job

    @property
    def done(self) -> bool:
        """Whether no request is left."""
        return self._round > self.terms.rounds + 1

    def requests(self) -> dict[str, bytes]:
        """Return the requests of this round by party; none once the job has ended."""
        terms, at = self.terms, self._round
        if self.done:
            return {}
        if at == 0:
            return {terms.label_holder: self._request(terms.label_holder, Ask.LABELS)}
        if at > terms.rounds:
            there = [party for party in self.parties if party not in self._lost]
            weights = {party: self._weights_of(party) for party in there}
            return {party: self._request(party, Ask.FINISH, 0.0, weights[party]) for party in there}
        residual, asked = self.weights.residual, self._sampling.who(at - 1)
        clip = self._clip(residual)
        return {party: self._request(party, Ask.SELECT, clip, residual) for party in asked}

    def receive(self, answers: Mapping[str, bytes]) -> None:
        """Take the answers of this round, from all parties that were asked and not lost.

        After a loss the answers still count, and the job ends.
        """
        if self.done or set(answers) != set(self.requests()) - set(self._lost):
            raise Refused("a round needs the answers of all parties that were asked, and no others")
        releases = {party: self._checked(party, content) for party, content in answers.items()}
        self._follow(answers, releases)
        if self._lost and not self.done:
            self._go_to_end()

    def lose(self, party: str, why: str) -> None:
        """Note that a party refuses or does not come back: the job ends with this round.

        `receive` still takes the answers of the others.
        """
        self.terms.number_of(party)  # raises for a party that takes no part
        if not self.done:
            self._lost.setdefault(party, why)

    def end(self, why: str) -> None:
        """End the job with the rounds so far: the parties get their weights, and the reason."""
        if not self.done:
            self._stopped = why
            self._go_to_end()

    def _go_to_end(self) -> None:
        """No round is useful any more; the parties that are left get their weights."""
        everybody = set(self._lost) == set(self.parties)
        self._round = self.terms.rounds + (2 if everybody else 1)

    @property
    def rounds(self) -> tuple[int, int]:
        """How many rounds are done, and of how many."""
        return self._followed, self.terms.rounds

    @property
    def ended(self) -> str:
        """How the job ended, in words."""
        lost = "; ".join(f"{party}: {why}" for party, why in self._lost.items())
        whole = self._followed == self.terms.rounds and self._round > self.terms.rounds
        return self._stopped or lost or ("complete" if whole else "not ended")

    def result(self) -> bytes:
        """Return the card as JSON."""
        return self.card().to_json().encode()

    def card(self) -> Card:
        """Return the card of all rounds so far."""
        terms = self.terms
        scales = {party.name: terms.y_bound / party.x_bound for party in terms.parties}
        owners = [party for party, _ in self.weights.features]
        values = self.weights.values.tolist()
        return Card(
            job=terms.job,
            terms=json.loads(terms.to_json()),
            privacy=self._privacy(),
            ended=self.ended,
            rounds_done=self._followed,
            parties=owners,
            features=[feature for _, feature in self.weights.features],
            weights=values,
            coefficients=[w * scales[owner] for w, owner in zip(values, owners, strict=True)],
            intercept=self._intercept() * terms.y_bound,
            uplink_bytes=dict(self._uplink),
        )

    def _follow(self, answers: Mapping[str, bytes], releases: Mapping[str, PartyRelease]) -> None:
        for party, content in answers.items():
            self._uplink[party] += len(content)
        chosen: dict[Feature, int] = {}
        for party, release in releases.items():
            if release.kind == Gave.LABELS:
                self._follow_labels(release)
            elif release.kind == Gave.SHARED:
                sketch = self._quantiser.unpacked(release.numbers, self._plan.sketch_noise)
                self.weights.share((party, release.feature), sketch)
                self._means.append(centre_of(release.total, self.terms.n_rows) / ENTRY)
            if release.kind in (Gave.SHARED, Gave.AGAIN):
                chosen[party, release.feature] = release.sign
        if 1 <= self._round <= self.terms.rounds:
            self.weights.move(self._round - 1, chosen)
            self._followed += 1
        self._round += 1
        # By chance a round may ask nobody: it ends at once.
        while 1 <= self._round <= self.terms.rounds and not self._sampling.who(self._round - 1):
            self._followed += 1
            self._round += 1

    def _follow_labels(self, release: PartyRelease) -> None:
        centre = centre_of(release.total, self.terms.n_rows)
        noise = self._plan.label_sketch_noise(centre)
        self._label_mean = centre / ENTRY
        unit = ENTRY * math.sqrt(self.terms.sketch_size)
        self.weights.set_labels(self._quantiser.unpacked(release.numbers, noise), noise / unit)

    def _checked(self, party: str, content: bytes) -> PartyRelease:
        """Check that a release is of this party, round and job, and of a kind that is due."""
        release = PartyRelease.from_bytes(content)
        terms, at = self.terms, self._round
        kinds = {Gave.STORED} if at > terms.rounds else {Gave.SHARED, Gave.AGAIN, Gave.NOTHING}
        kinds = kinds if at else {Gave.LABELS}
        expected = terms.digest, terms.number_of(party), at
        if (release.digest, release.party, release.round) != expected:
            raise Refused(f"{party} sent a release of another job, party or round: a replay?")
        size = terms.sketch_size if release.kind in (Gave.LABELS, Gave.SHARED) else 0
        sound = release.kind in kinds and len(release.numbers) == size
        sound = sound and (size == 0 or release.width == self._quantiser.width)
        if release.kind in (Gave.SHARED, Gave.AGAIN):
            known = (party, release.feature) in self.weights.features
            sound = sound and 0 <= release.feature < terms.of(party).n_features
            sound = sound and release.sign in (-1, 1) and known == (release.kind == Gave.AGAIN)
        if not sound:
            raise Refused(f"{party} sent a release that this round did not ask for")
        return release

    def _clip(self, residual: Floats) -> float:
        """Clip near the standard deviation of an estimated residual: clipping less makes scores
        noisier and hardly more accurate. Without privacy nothing is clipped."""
        size = self.terms.sketch_size
        if self.terms.epsilon == math.inf:
            return float(np.abs(residual).sum()) / math.sqrt(size) or 1.0
        return max(1.0, _CLIP * math.sqrt(float(residual @ residual) / size))

    def _request(
        self, party: str, kind: Ask, clip: float = 0.0, numbers: Floats | None = None
    ) -> bytes:
        given = np.empty(0) if numbers is None else numbers
        place = self.terms.digest, self.terms.number_of(party), self._round
        ended = self.ended if kind == Ask.FINISH else ""
        return PartyRequest(*place, kind, clip, given, ended).to_bytes()

    def _weights_of(self, party: str) -> Floats:
        own = self.weights.values[[owner == party for owner, _ in self.weights.features]]
        last = [self._intercept()] if party == self.terms.label_holder else []
        return np.array([*own, *last])

    def _intercept(self) -> float:
        return self._label_mean - float(np.dot(self.weights.values, self._means))

    def _privacy(self) -> dict[str, Any]:
        by_party = {party: zcdp.rho(self._plan.event_of(party)) for party in self.parties}
        return {
            "epsilon": jsonable(self.terms.epsilon),
            "delta": self.terms.delta,
            "rho": jsonable(zcdp.rho(self._plan.event)),
            "rho_by_party": {party: jsonable(rho) for party, rho in by_party.items()},
            "neighboring": "a person's rows are present at all parties, or at none",
            "covers": "all releases of all parties in this job, and everything computed from them",
        }
