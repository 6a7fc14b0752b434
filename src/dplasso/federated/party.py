"""One party: its own features, and the releases that it makes of them."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dplasso.base.arrays import Ints
from dplasso.federated.caps import Caps
from dplasso.federated.errors import Refused
from dplasso.federated.holdings import Holdings
from dplasso.federated.job_party import JobParty
from dplasso.federated.messages import Ask, Gave, PartyRelease, PartyRequest
from dplasso.federated.model import PartyModel
from dplasso.federated.plan import plan_of
from dplasso.federated.quantisation import Quantiser
from dplasso.federated.sampling import Sampling
from dplasso.federated.terms import Terms
from dplasso.mechanisms.random_bits import random_bits
from dplasso.privacy import leaks
from dplasso.privacy.accountant import Accountant


class Party(JobParty):
    """A party of a job of sketches: it answers requests with releases, and with nothing else.

    Parameters
    ----------
    terms : Terms
        The terms of the job.
    name : str
        The party's name in the terms.
    X : array-like or sparse matrix, rows x features
        The party's features.
    identifiers : sequence of str, int or bytes
        Person identifiers, one per row, unique.
    secret : bytes
        The secret that all parties share and the coordinator does not have.
    y : array-like, optional
        The labels, at the label holder only.
    caps : Caps, optional
        The party's own limits; none by default.
    accountant : Accountant, optional
        A ledger, charged for each part of a job before anything of it is drawn. The charge is that
        of all parties together: what a person loses in a job, wherever their rows are.
    folder : Path, optional
        Where the release log is kept. Without one a killed party cannot continue.
    random_state : int, Generator or None, default=None
        None for secure randomness. A seed gives no privacy: it is for simulations.

    Formal guarantees
    -----------------
    - Neighbouring: a person's row is at the parties, or at none of them.
    - Released: one `PartyRelease` per request. Cost: `FederatedPlan.event_of` for this party, and
      ``event`` for all parties together, which is charged.
    - A round is answered once. The same round again gets the same bytes, from the release log. An
      earlier round, one that is not on the schedule, other terms, or a damaged request is refused.
      So a party never releases more often than the account says, whoever asks.
    - Assumptions: every person has one identifier; the secret is unknown to the coordinator (it
      protects identifiers, not the guarantee); noise is drawn from the operating system's bits.
      The time that an answer takes is not protected.
    """

    def __init__(
        self,
        terms: Terms,
        name: str,
        X: Any,
        identifiers: Sequence[object],
        secret: bytes,
        *,
        y: ArrayLike | None = None,
        caps: Caps | None = None,
        accountant: Accountant | None = None,
        folder: Path | None = None,
        random_state: Any = None,
    ) -> None:
        self._terms = terms
        self._plan, self._sampling = plan_of(terms), Sampling(terms)
        if caps is not None:
            caps.check(terms, name)
        bits = random_bits(random_state, name="random_state")
        if not bits.secure:
            leaks.report("random_state makes noise that can be undone; leave it None", warn=False)
        self._holdings = Holdings(terms, name, X, identifiers, secret, y, bits)
        self._width = Quantiser(terms).width
        self._shared: list[int] = []
        self._last: PartyRelease | None = None
        self._made: Counter[Gave] = Counter()
        with self._opening(self._plan, name, accountant, folder):
            for release in self._log.releases():
                self._replay(release)

    @property
    def model(self) -> PartyModel:
        """The party's own coefficients, once the job has ended."""
        return PartyModel(**self._kept_model())

    def answer(self, request: bytes) -> bytes:
        """Return the release that a request asks for; it is on disk before that."""
        asked = PartyRequest.from_bytes(request)
        with self._one_at_a_time:
            return self._answered(asked)

    def _answered(self, asked: PartyRequest) -> bytes:
        self._log.check_open()
        self._check(asked)
        if self._last is not None and asked.round == self._last.round:
            return self._last.to_bytes()
        if asked.kind == Ask.FINISH:  # it draws nothing, and no draw follows it
            self.accept()
        else:
            self.pay("model")
        release = {
            Ask.LABELS: self._share_labels,
            Ask.SELECT: self._select,
            Ask.FINISH: self._store,
        }[asked.kind](asked)
        content = release.to_bytes()
        self._log.add(content)
        self._remember(release)
        return content

    @property
    def first_part_done(self) -> bool:
        """Whether the count of common rows is released, if there is one."""
        return not self._plan.has_first_part or self._log.count is not None

    @property
    def n_releases(self) -> dict[str, int]:
        """How many releases of each kind were made."""
        made = self._made
        return {
            "counts of common rows": int(self._log.count is not None),
            "labels": made[Gave.LABELS],
            "selections": made[Gave.SHARED] + made[Gave.AGAIN],
            "features": made[Gave.SHARED],
        }

    @property
    def _rows_digest(self) -> bytes:
        return self._holdings.digest

    def _count_sums(self) -> Ints:
        return self._holdings.counted()

    def _check(self, asked: PartyRequest) -> None:
        terms = self._terms
        if asked.digest != terms.digest:
            raise Refused(f"{self.name} refuses a request of another job or with other terms")
        if asked.party != self._number:
            raise Refused(f"{self.name} refuses a request to another party")
        last = -1 if self._last is None else self._last.round
        if asked.round < last:
            raise Refused(f"{self.name} refuses round {asked.round}: it has answered {last}")
        selects = 1 <= asked.round <= terms.rounds
        due = {  # nothing else: the terms are settled
            Ask.LABELS: asked.round == 0 and self.name == terms.label_holder,
            Ask.SELECT: selects and self.name in self._sampling.who(asked.round - 1),
            # A job may end early; no round follows.
            Ask.FINISH: asked.round == terms.rounds + 1,
        }
        if not due.get(asked.kind, False):
            raise Refused(f"{self.name} refuses a request that is not on the schedule")
        if asked.kind == Ask.SELECT and len(asked.numbers) != terms.sketch_size:
            raise Refused(f"{self.name} refuses a residual whose size is not that of the terms")

    def _share_labels(self, asked: PartyRequest) -> PartyRelease:
        labels = self._holdings.labels()
        return self._release(asked, Gave.LABELS, width=self._width, **labels._asdict())

    def _select(self, asked: PartyRequest) -> PartyRelease:
        candidates = self._sampling.asked(asked.round - 1)[self.name]
        if self._terms.step == "corrective":
            # The weights of shared features are set without a request: only others are useful.
            candidates = np.setdiff1d(candidates, self._shared, assume_unique=True)
        if len(candidates) == 0:
            return self._release(asked, Gave.NOTHING)
        sign, feature = self._holdings.drawn(asked.numbers, asked.clip, candidates)
        if feature in self._shared:
            return self._release(asked, Gave.AGAIN, sign=sign, feature=feature)
        shared = {"sign": sign, "feature": feature, **self._holdings.shared(feature)._asdict()}
        return self._release(asked, Gave.SHARED, width=self._width, **shared)

    def _release(self, asked: PartyRequest, kind: Gave, **released: Any) -> PartyRelease:
        return PartyRelease(asked.digest, self._number, asked.round, kind, **released)

    def _store(self, asked: PartyRequest) -> PartyRelease:
        holds_labels = self.name == self._terms.label_holder
        # The coordinator may have lost the answer of the last round.
        known = len(asked.numbers) - holds_labels
        if not 0 <= known <= len(self._shared):
            raise Refused(f"{self.name} refuses weights of features that it did not share")
        weights = asked.numbers[:known]
        if np.abs(weights).sum() > self._terms.radius * (1.0 + 1e-9):
            raise Refused(f"{self.name} refuses weights beyond the radius of the terms")
        own = self._terms.of(self.name)
        scale = self._terms.y_bound / own.x_bound
        model = {
            "party": self.name,
            "job": self._terms.job,
            "x_bound": own.x_bound,
            "n_features": own.n_features,
            "features": self._shared[:known],
            "coefficients": (weights * scale).tolist(),
            "intercept": float(asked.numbers[-1]) * self._terms.y_bound if holds_labels else 0.0,
        }
        self._log.keep_model(model)
        return self._release(asked, Gave.STORED)

    def _replay(self, release: PartyRelease) -> None:
        """Replay a release from before a restart: it charges the rows' budgets as it did then."""
        if release.kind == Gave.SHARED:
            self._holdings.charge_again(release.feature, release.total)
        self._remember(release)

    def _remember(self, release: PartyRelease) -> None:
        self._last = release
        self._made[release.kind] += 1
        if release.kind == Gave.SHARED:
            self._shared.append(release.feature)
