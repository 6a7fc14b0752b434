"""Does a party's noise cover the effect of a row, and does storage affect its releases?"""

import math
import tempfile
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dplasso.audit import account
from dplasso.audit.check import Check, Session, Subject, Verdict
from dplasso.audit.checks.representation import compared
from dplasso.audit.descent.recording import (
    Forgery,
    Recorded,
    share_of_charge,
    shares_of_charges,
)
from dplasso.audit.representation.holders import Holder, quietly
from dplasso.base.arrays import Floats, Ints
from dplasso.federated import Coordinator, Party, agree
from dplasso.federated.columns import Columns, labels_of
from dplasso.federated.count_plan import ENTRY
from dplasso.federated.holdings import Holdings
from dplasso.federated.messages import Gave, PartyRelease
from dplasso.federated.plan import WEIGHT, plan_of
from dplasso.federated.simulation import run as run_job
from dplasso.federated.terms import Terms
from dplasso.mechanisms.random_bits import random_bits
from dplasso.privacy.events import Event

NEIGHBOURS = 12
ROWS, COLUMNS, _SKETCH = 60, 5, 16
_SUM_FACTOR = 8  # the noise of a feature's sum, over that of its sketch
SECRET = bytes(16)
BOUNDS = {"a": 2.7, "b": 0.1}  # not exact in single precision
_Y_BOUND = 1.1
_FEATURES = "widest change of features, over the charge"


class Parties(Check[Subject]):
    """Stores the rows of a federation's party in every possible way, as `Representation` does.

    A job of two parties, with bounds that are not exact in single precision, is run with fixed
    noise. All answers of the party must be the same, byte for byte, however its rows and labels are
    stored; and where one of its rows makes a loader store all of them differently, the integers
    that it holds for every other row must stay the same. Then tables with and without one person's
    row are given the same forged releases, at the label holder and at the party without labels: the
    sums to which parties add noise may differ, over all parties together, by at most the noise
    standard deviation divided by the charged multiplier, and the log-weights of draws by at most
    the charged range. The cost of all parties' releases is computed a second time, from the noise
    that they request and the draws that they make. A person has rows at all parties, so it may be
    at most what each of them is charged, and each charge at most the claim.
    """

    name = "parties"
    once = True

    def run(self, session: Session[Subject]) -> Iterator[Verdict]:
        holders = [PartyHolder(name) for name in ("a", "b", "a")]

        def labels(rows: int) -> Floats:
            return session.rng.normal(size=rows).astype(np.float32).astype(np.float64)

        with tempfile.TemporaryDirectory() as folder:
            yield from compared(self, session, holders, labels, Path(folder))
        terms = terms_of_job("a")
        charged = charged_in_a_job(terms)
        shares = [
            _of_all_parties(terms, found.accountant.event(), session.rng)
            for found in charged.values()
            for _ in range(NEIGHBOURS)
        ]
        yield from self.worst(session, [*shares, *_account(terms, charged)], len(shares))


class PartyHolder(Holder):
    """One of the two parties of a small job; the other one has empty rows."""

    columns, rows = COLUMNS, ROWS

    def __init__(self, name: str) -> None:
        other = "b" if name == "a" else "a"
        self.named, self._name, self._other = f"party {name}", name, other
        self.bound = BOUNDS[name]
        self._terms = terms_of_job(name)

    def released(self, X: Any, y: Any, seed: int) -> dict[str, bytes]:
        empty, people = np.zeros((ROWS, COLUMNS)), range(ROWS)
        with quietly():
            party = Party(self._terms, self._name, X, people, SECRET, y=y, random_state=seed)
            other = Party(self._terms, self._other, empty, people, SECRET, random_state=seed + 1)
        told = _Noted(party)
        coordinator = Coordinator(self._terms)
        run_job(coordinator, {self._name: told, self._other: other})  # type: ignore[dict-item]
        return {"answers": b"".join(told.answers), "card": coordinator.card().to_json().encode()}

    def held(self, X: Any, y: Any) -> Floats:
        own = self._terms.parties[self._terms.number_of(self._name)]
        columns = Columns(X, own.x_bound, own.row_budget)
        held = [columns.column(feature) for feature in range(COLUMNS)]
        labels = labels_of(y, self._terms.y_bound, columns.n_rows)
        return np.column_stack([*held, labels]).astype(np.float64)


class _Noted:
    """A party whose answers are recorded."""

    def __init__(self, party: Party) -> None:
        self._party, self.answers = party, list[bytes]()

    def answer(self, request: bytes) -> bytes:
        self.answers.append(self._party.answer(request))
        return self.answers[-1]

    @property
    def draws(self) -> int:
        """How often the party has drawn a feature."""
        kinds = [PartyRelease.from_bytes(answer).kind for answer in self.answers]
        return sum(kind in (Gave.SHARED, Gave.AGAIN) for kind in kinds)


class Charged(NamedTuple):
    """The charges to a party in a job, and how often it has drawn a feature."""

    accountant: account.Recorder
    draws: int


class _Released(NamedTuple):
    """The exact sums and scores of a party whose releases are forged."""

    labels: list[Recorded]  # empty for a party without labels
    features: list[Recorded]  # of each feature its sum, then its sketch
    scores: Ints


def terms_of_job(label_holder: str) -> Terms:
    """The terms of a job of two parties, of which one has labels."""
    return agree(
        dict.fromkeys(BOUNDS, COLUMNS),
        label_holder,
        n_rows=ROWS,
        epsilon=3.0,
        delta=1e-6,
        rounds=4,
        sketch_size=_SKETCH,
        x_bounds=BOUNDS,
        y_bound=_Y_BOUND,
    )


def charged_in_a_job(terms: Terms) -> dict[str, Charged]:
    """Run a job on empty rows, in which every party has an accountant of its own."""
    accountants = {name: account.Recorder() for name in terms.names}
    parties: dict[str, Any] = {}
    for name, accountant in accountants.items():
        y = np.zeros(ROWS) if name == terms.label_holder else None
        table: Any = np.zeros((ROWS, COLUMNS)), range(ROWS), SECRET
        parties[name] = _Noted(Party(terms, name, *table, y=y, accountant=accountant))
    run_job(Coordinator(terms), parties)
    return {name: Charged(accountants[name], party.draws) for name, party in parties.items()}


def _of_all_parties(terms: Terms, event: Event, rng: np.random.Generator) -> dict[str, float]:
    """The effects of a person with a row at every party, over what one party was charged."""
    found = [_widest(terms, name, event, rng) for name in terms.names]
    shares = {name: max(one.get(name, 0.0) for one in found) for one in found for name in one}
    # The charged budget covers the rows of a person at all parties: squares add up.
    return shares | {_FEATURES: math.hypot(*(one[_FEATURES] for one in found))}


def _widest(terms: Terms, name: str, event: Event, rng: np.random.Generator) -> dict[str, float]:
    """The effects of a row of one party, for one pair of neighbours, over the charge."""
    features, *labels = account.multipliers_of(event) or [math.nan]
    charged_range = account.ranges_of_event(event)[-1]
    at, forged = int(rng.integers(ROWS)), _forged(rng)
    X = rng.normal(size=(ROWS, COLUMNS)) * 10.0 ** rng.uniform(-1.0, 2.0, (ROWS, COLUMNS))
    X *= rng.random(X.shape) < rng.uniform(0.2, 1.0)
    X *= BOUNDS[name] / BOUNDS["a"]
    y = rng.choice([-3.0, -1.0, 0.3, 1.0, 3.0], ROWS) * _Y_BOUND
    residual = rng.normal(size=_SKETCH) * 10.0 ** rng.uniform(-1.0, 2.0)
    kept = np.delete(np.arange(ROWS), at)
    one, other = (
        _released(terms, name, X[rows], y[rows], rows, forged, residual)
        for rows in (np.arange(ROWS), kept)
    )
    summed = [
        share_of_charge(mine, theirs, features)
        for mine, theirs in zip(one.features, other.features, strict=True)
    ]
    # Either sign may be drawn: the largest change for one sign has its opposite for the other.
    range_drawn = plan_of(terms).theta * (2 * int(np.abs(one.scores - other.scores).max()))
    charged = labels if name == terms.label_holder else []
    of_labels = shares_of_charges(one.labels, other.labels, charged, ("labels",))
    return {
        **of_labels,
        # A row's budget covers all features together: squares add up.
        _FEATURES: math.hypot(*summed),
        "widest log-ratio of a choice, over the charge": (
            float(range_drawn / Fraction(charged_range)) if charged_range else math.inf
        ),
    }


def _forged(rng: np.random.Generator) -> list[Ints]:
    """Alternating sums and sketches; sums put the centre at an end, in the middle, or anywhere."""
    releases = []
    for _ in range(1 + COLUMNS):
        mean = rng.choice([-2.0, -1.0, 0.0, 1.0, 2.0, rng.uniform(-1.0, 1.0)])
        releases.append(np.array([int(mean * ENTRY * ROWS)], np.int64))
        releases.append(rng.integers(-(2**20), 2**20, _SKETCH))
    return releases


def _released(
    terms: Terms,
    name: str,
    X: Floats,
    y: Floats,
    people: Ints,
    forged: list[Ints],
    residual: Floats,
) -> _Released:
    forgery, holder = Forgery(forged), name == terms.label_holder
    own: Any = y if holder else None
    held = Holdings(terms, name, X, people.tolist(), SECRET, own, random_bits(0), noise_of=forgery)
    scores = held.scores(residual, 1.0, np.arange(COLUMNS))
    if holder:
        held.labels()
    labels = len(forgery.found)
    for feature in range(COLUMNS):
        held.shared(feature)
    return _Released(forgery.found[:labels], forgery.found[labels:], scores)


def _account(terms: Terms, charged: Mapping[str, Charged]) -> Iterator[dict[str, float]]:
    """Each party's charge over the claim, and the releases of all parties over each charge."""
    cost = math.fsum(rho_of_releases(terms, name, one.draws) for name, one in charged.items())
    for one in charged.values():
        rho = account.rho_of_event(one.accountant.event())
        on_terms = one.accountant.terms_differing(terms.delta, "add_remove") == 0
        epsilon = account.epsilon_at(rho, terms.delta) if on_terms else math.inf
        yield {"epsilon that a party is charged, over the claim": epsilon / terms.epsilon}
        yield {"rho of all parties' releases, over a charge": account.over(cost, rho)}


def rho_of_releases(terms: Terms, name: str, draws: int) -> float:
    """The cost of the releases of a party, from the noise that it requests.

    The budget of a row bounds its squared centred entries in sketches plus its squared entries in
    sums over `_SUM_FACTOR` squared. Labels have no budget: a label is at most 1 in its sum, and 1
    plus the centre in the sketch, in units of its bound.
    """
    middle = np.array([ENTRY * ROWS // 2], np.int64)  # puts the centre at half of the bound
    forged = [middle, np.zeros(_SKETCH, np.int64)] * (1 + COLUMNS)
    empty = np.zeros((ROWS, COLUMNS)), np.zeros(ROWS), np.arange(ROWS)
    released = _released(terms, name, *empty, forged, np.zeros(_SKETCH))
    numbers, budget = terms.sketch_size, terms.of(name).row_budget
    costs = [
        (_SUM_FACTOR**2 if place % 2 == 0 else numbers) * budget * _rho_of_unit(release)
        for place, release in enumerate(released.features)
    ]
    rho = float(np.max(costs))
    for release, most in zip(released.labels, (1.0, 1.5 * math.sqrt(numbers)), strict=False):
        rho += most**2 * _rho_of_unit(release)
    range_drawn = 2.0 * float(plan_of(terms).theta) * ENTRY * WEIGHT
    return rho + draws * range_drawn**2 / 8.0


def _rho_of_unit(release: Recorded) -> float:
    """The cost of a release that a row changes by an entry at its bound."""
    return account.over(ENTRY**2, 2.0 * release.sigma**2)
