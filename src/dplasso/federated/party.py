"""One party: its own features, and what it lets go of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplasso.federated.alignment import places_of
from dplasso.federated.caps import Caps
from dplasso.federated.columns import Columns, checked_rows, labels_of
from dplasso.federated.errors import Refused
from dplasso.federated.messages import Ask, Gave, Release, Request
from dplasso.federated.model import PartyModel
from dplasso.federated.notebook import Notebook
from dplasso.federated.plan import WEIGHT, centre_of, plan_of
from dplasso.federated.sampling import Sampling
from dplasso.federated.sketch import Sketcher
from dplasso.federated.terms import Terms
from dplasso.federated.wire import Wire
from dplasso.mechanisms.exponential import draw_by_score
from dplasso.mechanisms.grid_gaussian import GridGaussian
from dplasso.mechanisms.random_bits import RandomBits, random_bits
from dplasso.privacy.accountant import Accountant

Ints = NDArray[np.int64]


class Party:
    """Answers requests of a job with releases, and with nothing else.

    Parameters
    ----------
    X : its features, rows x features, sparse or dense.
    identifiers : who the rows are of, one a row, all different.
    secret : what all parties share and the coordinator does not have.
    y : labels, at the label holder.
    caps : limits of its own; none by default.
    accountant : a ledger, charged once a job, before anything is drawn.
    folder : where the notebook is kept; without one a killed party cannot go on.

    Formal guarantees
    -----------------
    - Neighbouring: a person's row is at the parties, or at none of them.
    - Released: one `Release` for a request. Cost: `FederatedPlan.event_of` for this party, and
      ``event`` for all parties together.
    - A round is answered once: the same round again gets the same bytes, from the notebook; an
      earlier one, one out of the schedule, other terms, or a damaged request is refused. So a
      party is never asked more often than the account says, whoever asks.
    - Assumptions: identifiers are one a person; the secret is unknown to the coordinator (it
      protects identifiers, not the guarantee); noise is drawn from the operating system's bits.
      The time an answer takes is not protected.
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
        self._terms, self.name = terms, name
        self._plan, self._sampling = plan_of(terms), Sampling(terms)
        self._number = terms.number_of(name)
        own = terms.parties[self._number]
        if caps is not None:
            caps.check(terms, name)
        self._columns = Columns(X, own.x_bound, own.row_budget)
        if self._columns.n_features != own.n_features:
            raise ValueError(
                f"X has {self._columns.n_features} features, the terms say {own.n_features}"
            )
        rows = places_of(checked_rows(identifiers, self._columns.n_rows), secret, terms.universe)
        self._sketcher, self._wire = Sketcher(terms, rows), Wire(terms)
        self._labels = self._checked_labels(y)
        self._accountant = accountant
        self._bits: RandomBits = random_bits(random_state)
        self._shared: list[int] = []
        self._last: Release | None = None
        self._notebook = Notebook(terms, name, folder)
        for release in self._notebook.releases():
            self._relive(release)

    @property
    def model(self) -> PartyModel:
        """The party's own coefficients, once it was told."""
        told = self._notebook.told
        if told is None:
            raise Refused(f"{self.name} was not told its weights yet; the job has not ended")
        return PartyModel(**told)

    def answer(self, request: bytes) -> bytes:
        """The release that a request asks for, on disk before it is returned."""
        asked = Request.from_bytes(request)
        self._check(asked)
        if self._last is not None and asked.round == self._last.round:
            return self._last.to_bytes()
        if not self._notebook.begun:
            self._charge()
            self._notebook.begin()
        release = {
            Ask.LABELS: self._share_labels,
            Ask.SELECT: self._select,
            Ask.FINISH: self._store,
        }[asked.kind](asked)
        content = release.to_bytes()
        self._notebook.add(content)
        self._remember(release)
        return content

    def close(self) -> None:
        """Give the notebook free for another process."""
        self._notebook.close()

    def _check(self, asked: Request) -> None:
        terms = self._terms
        if asked.digest != terms.digest:
            raise Refused(f"{self.name} refuses a request of another job, or on other terms")
        if asked.party != self._number:
            raise Refused(f"{self.name} refuses a request to another party")
        last = -1 if self._last is None else self._last.round
        if asked.round < last:
            raise Refused(f"{self.name} refuses round {asked.round}: it has answered {last}")
        selects = 1 <= asked.round <= terms.rounds
        due = {
            Ask.INTRODUCE: False,  # the terms are agreed on
            Ask.AGREE: False,
            Ask.LABELS: asked.round == 0 and self.name == terms.label_holder,
            Ask.SELECT: selects and self.name in self._sampling.who(asked.round - 1),
            # A job may end early: no round follows.
            Ask.FINISH: asked.round == terms.rounds + 1,
        }[asked.kind]
        if not due:
            raise Refused(f"{self.name} refuses a request that is not on the schedule")
        if asked.kind == Ask.SELECT and len(asked.numbers) != terms.sketch_size:
            raise Refused(f"{self.name} refuses a residual of another size than the terms say")

    def _charge(self) -> None:
        if self._accountant is not None:
            self._accountant.charge(
                self._plan.event_of(self.name),
                delta=self._terms.delta,
                neighboring="add_remove",
                label=f"federated job {self._terms.job}",
            )

    def _share_labels(self, asked: Request) -> Release:
        assert self._labels is not None  # the schedule asks the label holder alone
        plan = self._plan
        total = self._noisy(np.array([self._labels.sum()]), plan.label_sum_noise)[0]
        centre = centre_of(int(total), self._terms.n_rows)
        sketch = self._sketcher.of(self._labels - centre)
        noise = plan.label_sketch_noise(centre)
        return self._released(asked, Gave.LABELS, 0, -1, int(total), sketch, noise)

    def _select(self, asked: Request) -> Release:
        candidates = self._sampling.asked(asked.round - 1)[self.name]
        if self._terms.step == "corrective":
            # Weights of shared features follow without a question: only others are of use.
            candidates = np.setdiff1d(candidates, self._shared, assume_unique=True)
        if len(candidates) == 0:
            return Release(asked.digest, self._number, asked.round, Gave.NOTHING)
        sign, feature = self._drawn(asked, candidates)
        if feature in self._shared:
            return Release(asked.digest, self._number, asked.round, Gave.AGAIN, sign, feature)
        column = self._columns.column(feature)
        total = self._noisy(np.array([self._columns.for_sum(column).sum()]), self._plan.sum_noise)[
            0
        ]
        centre = centre_of(int(total), self._terms.n_rows)
        sketch = self._sketcher.of(self._columns.for_sketch(column, centre))
        noise = self._plan.sketch_noise
        return self._released(asked, Gave.SHARED, sign, feature, int(total), sketch, noise)

    def _drawn(self, asked: Request, candidates: Ints) -> tuple[int, int]:
        """A signed candidate, by how fast the residual falls along it."""
        residual = self._sketcher.back(asked.numbers)
        clip = asked.clip or 1.0
        weights = np.rint(np.clip(residual / clip, -1.0, 1.0) * -WEIGHT).astype(np.int64)
        scores = self._columns.scores(weights, candidates)
        signed = np.concatenate([scores, -scores])
        if self._plan.choice_epsilon == np.inf:
            place = int(np.argmax(signed))
        else:
            place = draw_by_score(signed, self._plan.theta, self._bits.generator)
        sign = 1 if place < len(candidates) else -1
        return sign, int(candidates[place % len(candidates)])

    def _released(
        self,
        asked: Request,
        kind: Gave,
        sign: int,
        feature: int,
        total: int,
        sketch: Ints,
        noise: float,
    ) -> Release:
        numbers = self._wire.packed(self._noisy(sketch, noise), noise)
        return Release(
            asked.digest,
            self._number,
            asked.round,
            kind,
            sign,
            feature,
            total,
            numbers,
            self._wire.width,
        )

    def _noisy(self, values: Ints, sigma: float) -> Ints:
        values = values.astype(np.int64)
        GridGaussian(sigma).add_to(values, self._bits.generator)
        return values

    def _store(self, asked: Request) -> Release:
        holds_labels = self.name == self._terms.label_holder
        if len(asked.numbers) != len(self._shared) + holds_labels:
            raise Refused(f"{self.name} refuses weights of features it did not share")
        own = self._terms.parties[self._number]
        scale = self._terms.y_bound / own.x_bound
        told = {
            "party": self.name,
            "job": self._terms.job,
            "x_bound": own.x_bound,
            "n_features": own.n_features,
            "features": list(self._shared),
            "coefficients": (asked.numbers[: len(self._shared)] * scale).tolist(),
            "intercept": float(asked.numbers[-1]) * self._terms.y_bound if holds_labels else 0.0,
        }
        self._notebook.keep(told)
        return Release(asked.digest, self._number, asked.round, Gave.STORED)

    def _relive(self, release: Release) -> None:
        """Follow a release of an earlier life: the rows' budgets are charged again as they were."""
        if release.kind == Gave.SHARED:
            column = self._columns.column(release.feature)
            self._columns.for_sum(column)
            self._columns.for_sketch(column, centre_of(release.total, self._terms.n_rows))
        self._remember(release)

    def _remember(self, release: Release) -> None:
        self._last = release
        if release.kind == Gave.SHARED:
            self._shared.append(release.feature)

    def _checked_labels(self, y: ArrayLike | None) -> Ints | None:
        if (y is not None) != (self.name == self._terms.label_holder):
            raise ValueError(f"y belongs to the label holder, {self._terms.label_holder}, alone")
        return None if y is None else labels_of(y, self._terms.y_bound, self._columns.n_rows)
