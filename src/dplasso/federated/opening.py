"""How a job opens: an offer, how many features every party has, and terms that all agree to."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from dplasso.federated.agreement import agree
from dplasso.federated.caps import Caps
from dplasso.federated.coordinator import Coordinator
from dplasso.federated.errors import Refused
from dplasso.federated.messages import Ask, Gave, Release, Request
from dplasso.federated.model import PartyModel
from dplasso.federated.party import Party
from dplasso.federated.terms import Terms
from dplasso.storage.atomic import replace_file
from dplasso.storage.private_files import make_folder

# Of one party: the terms, and where its notebook is.
OpenParty = Callable[[Terms, Path], Party]


@dataclass(frozen=True)
class Offer:
    """A job before the numbers of features are known. What is None follows by public rules."""

    job: str
    parties: tuple[str, ...]
    label_holder: str
    n_rows: int
    epsilon: float
    delta: float
    radius: float = 5.0
    rounds: int | None = None
    sketch_size: int | None = None
    tau: int | None = None
    y_bound: float = 1.0
    row_budget: float | None = None
    seed: int = 0

    @property
    def digest(self) -> bytes:
        """What the messages of the opening carry."""
        return hashlib.sha256(self.to_json().encode()).digest()

    def to_json(self) -> str:
        """The offer as text: the same for the same offer."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> "Offer":
        """An offer that `to_json` wrote; anything else is refused."""
        try:
            content = json.loads(text)
            content["parties"] = tuple(str(name) for name in content["parties"])
            for name in ("epsilon", "delta", "radius", "y_bound"):
                content[name] = float(content[name])
            return cls(**content)
        except (KeyError, TypeError, ValueError):
            raise Refused("no offer of a job") from None

    def terms(self, features: Mapping[str, int]) -> Terms:
        """The terms that follow once all have said how many features they have."""
        return agree(
            {name: features[name] for name in self.parties},
            self.label_holder,
            n_rows=self.n_rows,
            epsilon=self.epsilon,
            delta=self.delta,
            radius=self.radius,
            rounds=self.rounds,
            sketch_size=self.sketch_size,
            row_budget=self.row_budget,
            x_bounds=dict.fromkeys(self.parties, 1.0),  # entries are in units of their bounds
            job=self.job,
            tau=self.tau,
            y_bound=self.y_bound,
            seed=self.seed,
        )


class OpeningCoordinator:
    """A `Coordinator` that begins with an offer. Requests follow from the offer and the answers."""

    def __init__(self, offer: Offer) -> None:
        self.offer, self.parties = offer, offer.parties
        self.coordinator: Coordinator | None = None
        self._terms: Terms | None = None
        self._lost: dict[str, str] = {}

    def requests(self) -> dict[str, bytes]:
        """What to ask whom in this round; nothing once the job is over."""
        if self.coordinator is not None:
            return self.coordinator.requests()
        if self._lost:
            return {}
        return {name: self._opening(number) for number, name in enumerate(self.parties)}

    def receive(self, answers: Mapping[str, bytes]) -> None:
        """Take the answers of this round."""
        if self.coordinator is not None:
            self.coordinator.receive(answers)
        elif not self._lost:
            self._receive_opening(answers)

    def lose(self, party: str, why: str) -> None:
        """A party refuses or does not come back: the job ends with what there is."""
        if self.coordinator is not None:
            self.coordinator.lose(party, why)
        self._lost.setdefault(party, why)

    def result(self) -> bytes:
        """The card, as JSON; of a job that never began, why it did not."""
        if self.coordinator is not None:
            return self.coordinator.result()
        ended = "; ".join(f"{name}: {why}" for name, why in self._lost.items())
        card = {"job": self.offer.job, "ended": ended or "not begun", "rounds_done": 0}
        return json.dumps(card, indent=1).encode()

    def _opening(self, number: int) -> bytes:
        if self._terms is None:
            text = self.offer.to_json()
            return Request(self.offer.digest, number, 0, Ask.INTRODUCE, text=text).to_bytes()
        text = self._terms.to_json()
        return Request(self._terms.digest, number, 0, Ask.AGREE, text=text).to_bytes()

    def _receive_opening(self, answers: Mapping[str, bytes]) -> None:
        if set(answers) != set(self.parties):
            raise Refused("a job opens with the answers of all parties")
        releases = {name: Release.from_bytes(content) for name, content in answers.items()}
        digest = self.offer.digest if self._terms is None else self._terms.digest
        kind = Gave.INTRODUCED if self._terms is None else Gave.AGREED
        for name, release in releases.items():
            expected = (digest, self.parties.index(name), 0, kind)
            if (release.digest, release.party, release.round, release.kind) != expected:
                raise Refused(f"{name} sent something else than what opens a job")
        if self._terms is not None:
            self.coordinator = Coordinator(self._terms)
            return
        try:
            self._terms = self.offer.terms({name: r.feature for name, r in releases.items()})
        except ValueError as error:
            raise Refused(f"the offer makes no job: {error}") from error


class OpeningParty:
    """A `Party` that is asked whether it takes part before it is one.

    What it says of itself is how many features it has declared: a number that is public. Terms are
    kept on disk before they are agreed to; whoever comes with others is refused. ``y_bound`` is
    that of a party with labels, ``ended`` is told its model once the job is over.
    """

    def __init__(
        self,
        name: str,
        job: str,
        n_features: int,
        caps: Caps,
        folder: Path,
        open_party: OpenParty,
        *,
        y_bound: float | None = None,
        ended: Callable[[PartyModel], None] | None = None,
    ) -> None:
        self.name, self._job, self._n_features = name, job, n_features
        self._caps, self._folder, self._open = caps, folder, open_party
        self._y_bound, self._ended = y_bound, ended
        self._party: Party | None = None
        make_folder(folder)
        if self._kept.exists():
            terms = Terms.from_json(self._kept.read_text())
            caps.check(terms, name)  # which its owner may have lowered since
            self._party = open_party(terms, folder)

    @property
    def model(self) -> PartyModel:
        """The party's own coefficients, once it was told."""
        if self._party is None:
            raise Refused(f"{self.name} has agreed to no terms yet")
        return self._party.model

    def answer(self, request: bytes) -> bytes:
        """What opens the job, or the release that a request asks for."""
        asked = Request.from_bytes(request)
        if asked.kind == Ask.INTRODUCE:
            return self._introduce(asked)
        if asked.kind == Ask.AGREE:
            return self._agree(asked)
        if self._party is None:
            raise Refused(f"{self.name} has agreed to no terms yet")
        answer = self._party.answer(request)
        if asked.kind == Ask.FINISH and self._ended is not None:
            self._ended(self._party.model)
        return answer

    def close(self) -> None:
        """Give the notebook free: the party may be opened again."""
        if self._party is not None:
            self._party.close()

    @property
    def _kept(self) -> Path:
        return self._folder / f"{self._job}.terms"

    def _introduce(self, asked: Request) -> bytes:
        offer = Offer.from_json(asked.text)
        if (offer.digest, offer.job) != (asked.digest, self._job) or self.name not in offer.parties:
            raise Refused(f"{self.name} refuses an offer of another job, or to others")
        self._caps.check_cost(offer.job, self.name, offer.epsilon, offer.delta)
        if offer.label_holder == self.name:
            self._check_labels(offer.y_bound)
        number = offer.parties.index(self.name)
        return Release(
            asked.digest, number, 0, Gave.INTRODUCED, feature=self._n_features
        ).to_bytes()

    def _check_labels(self, y_bound: float) -> None:
        if self._y_bound is None:
            raise Refused(f"{self.name} has no labels")
        if y_bound != self._y_bound:
            raise Refused(
                f"{self.name} has labels within {self._y_bound:g}, the job says {y_bound:g}"
            )

    def _agree(self, asked: Request) -> bytes:
        terms = Terms.from_json(asked.text)
        names = [party.name for party in terms.parties]
        if (terms.digest, terms.job) != (asked.digest, self._job) or self.name not in names:
            raise Refused(f"{self.name} refuses terms of another job, or for others")
        if terms.parties[terms.number_of(self.name)].n_features != self._n_features:
            raise Refused(f"{self.name} refuses terms with another number of features")
        self._caps.check(terms, self.name)
        if terms.label_holder == self.name:
            self._check_labels(terms.y_bound)
        if self._kept.exists() and self._kept.read_text() != terms.to_json():
            raise Refused(f"{self.name} has agreed to other terms of job {terms.job}")
        if self._party is None:
            replace_file(self._kept, terms.to_json().encode())
            self._party = self._open(terms, self._folder)
        return Release(asked.digest, terms.number_of(self.name), 0, Gave.AGREED).to_bytes()
