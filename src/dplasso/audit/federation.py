"""The effect of one person's row on a federation's releases, divided by the charged sensitivity."""

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from dplasso.audit.account import epsilon_at, ranges_of_event, rho_of_event
from dplasso.audit.descent.account import multipliers_of
from dplasso.audit.descent.changes import share_of_charge
from dplasso.audit.descent.recording import Forgery, Recorded
from dplasso.audit.recorder import Recorder
from dplasso.base.arrays import Floats, Ints
from dplasso.federated import Coordinator, Party, agree
from dplasso.federated.holdings import Holdings
from dplasso.federated.plan import ENTRY, plan_of
from dplasso.federated.simulation import run as run_job
from dplasso.federated.terms import Terms
from dplasso.mechanisms.random_bits import random_bits

NEIGHBOURS = 12
ROWS, COLUMNS, _SKETCH = 60, 5, 16
SECRET = bytes(16)
BOUNDS = {"a": 2.7, "b": 0.1}  # not exact in single precision
_Y_BOUND = 1.1


class _Released(NamedTuple):
    """The exact sums and scores of a party whose releases are forged."""

    labels: list[Recorded]
    features: list[Recorded]
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


def shares_of_charges(rng: np.random.Generator) -> dict[str, float]:
    """The effect of a row on releases, and their cost, divided by the charge: at most 1."""
    terms = terms_of_job("a")
    found = [_widest(terms, rng) for _ in range(NEIGHBOURS)]
    worst = {tested: max(one[tested] for one in found) for tested in found[0]}
    return worst | _account(terms)


def _widest(terms: Terms, rng: np.random.Generator) -> dict[str, float]:
    """The effects of a row, for one pair of neighbours."""
    plan, event = plan_of(terms), plan_of(terms).event_of("a")
    features, *labels = multipliers_of(event)
    at, forged = int(rng.integers(ROWS)), _forged(rng)
    X = rng.normal(size=(ROWS, COLUMNS)) * 10.0 ** rng.uniform(-1.0, 2.0, (ROWS, COLUMNS))
    X *= rng.random(X.shape) < rng.uniform(0.2, 1.0)
    y = rng.choice([-3.0, -1.0, 0.3, 1.0, 3.0], ROWS) * _Y_BOUND
    residual = rng.normal(size=_SKETCH) * 10.0 ** rng.uniform(-1.0, 2.0)
    kept = np.delete(np.arange(ROWS), at)
    both = [
        _released(terms, X[rows], y[rows], rows, forged, residual)
        for rows in (np.arange(ROWS), kept)
    ]
    one, other = both
    summed = [
        share_of_charge(mine, theirs, features)
        for mine, theirs in zip(one.features, other.features, strict=True)
    ]
    # Either sign may be drawn: the largest change for one sign has its opposite for the other.
    range_drawn = plan.theta * (2 * int(np.abs(one.scores - other.scores).max()))
    return {
        "widest change of labels, over that charged": max(
            share_of_charge(*three) for three in zip(one.labels, other.labels, labels, strict=True)
        ),
        # A row's budget covers all features together: squares add up.
        "widest change of features, over that charged": math.hypot(*summed),
        "widest log-ratio of a choice, over that charged": float(
            range_drawn / Fraction(ranges_of_event(event)[-1])
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
    terms: Terms, X: Floats, y: Floats, people: Ints, forged: list[Ints], residual: Floats
) -> _Released:
    forgery = Forgery(forged)
    held = Holdings(terms, "a", X, people.tolist(), SECRET, y, random_bits(0), noise_of=forgery)
    scores = held.scores(residual, 1.0, np.arange(COLUMNS))
    held.labels()
    for feature in range(COLUMNS):
        held.shared(feature)
    return _Released(forgery.found[:2], forgery.found[2:], scores)


def _account(terms: Terms) -> dict[str, float]:
    """The charge to all parties in a job, divided by the claim of its terms."""
    accountants: dict[str, Recorder] = {name: Recorder() for name in BOUNDS}
    parties: dict[str, Any] = {}
    for name, accountant in accountants.items():
        y = np.zeros(ROWS) if name == terms.label_holder else None
        table = np.zeros((ROWS, COLUMNS)), range(ROWS), SECRET
        parties[name] = Party(terms, name, *table, y=y, accountant=accountant)
    run_job(Coordinator(terms), parties)
    told = [accountant.event() for accountant in accountants.values()]
    rho = math.fsum(rho_of_event(event) for event in told)
    asked = zip(accountants.items(), told, strict=True)
    missing = max(
        _over(rho_of_event(plan_of(terms).event_of(name)), rho_of_event(event))
        for (name, _), event in asked
    )
    return {
        "epsilon of all parties, over that claimed": epsilon_at(rho, terms.delta) / terms.epsilon,
        "rho of a party's releases, over that charged": missing,
    }


def _over(figure: float, charged: float) -> float:
    return figure / charged if charged else math.inf
