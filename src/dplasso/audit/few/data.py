"""Data for audits of a choice of columns."""

import math

import numpy as np

from dplasso.audit.descent.data import filled
from dplasso.audit.few.reference import FewFacts
from dplasso.audit.reference import PRESENCE, Table, entries_of
from dplasso.audit.synthetic import Neighbours, canary, joined, labels_apart
from dplasso.base.arrays import Floats, Ints
from dplasso.solvers.few import Chosen
from dplasso.solvers.few.plan import LABEL

_MOST_ROWS = 4000
_BEYOND = 8.0  # times the bound: a fit must clip such entries
_CERTAIN = 14.0  # nats by which a canary's columns exceed all empty ones


def telling_rows(columns: int, nats: float, facts: FewFacts) -> Table:
    """Columns correlated with the labels, either way, from 0 to ``nats`` in a log-weight."""
    own, others = labels_apart(facts)
    # Where presence alone counts, rows of one label have the column, those of the other lack it.
    pairs = _rows_for(nats / (1.0 if facts.row_map == PRESENCE else 2.0), facts)
    y = np.tile([own, others[0]], pairs)
    shares = np.linspace(0.0, 1.0, columns)
    held = np.repeat(np.arange(pairs), 2)[:, None] < shares * pairs
    ways = np.where(np.arange(columns) % 2 == 0, 1.0, -1.0) * np.tile([1.0, -1.0], pairs)[:, None]
    entries = np.maximum(ways, 0.0) if facts.row_map == PRESENCE else ways
    return filled(Table(entries_of(entries * held, facts), y), facts)


def forged_choice(columns: int, row: Floats, facts: FewFacts, rng: np.random.Generator) -> Chosen:
    """A possible centre of the labels, and columns that include those of the row."""
    centre = int(np.clip(rng.integers(-2 * LABEL, 2 * LABEL + 1), -LABEL, LABEL))
    own = rng.permutation(np.flatnonzero(row))[: rng.integers(facts.chosen + 1)]
    rest = np.setdiff1d(rng.permutation(columns), own, assume_unique=True)
    picked: Ints = rng.permutation(np.concatenate([own, rest])[: facts.chosen]).astype(np.int64)
    return Chosen(centre, picked, rng.choice([-1, 1], facts.chosen))


def canary_rows(columns: int, facts: FewFacts) -> Neighbours:
    """A crowd that has all of the columns, and a canary with every second one.

    Labels of the crowd balance, and rows with the columns have labels opposite to the canary's:
    without the canary all columns are equally likely to be chosen, and for any choice its residual
    is large from the first step to the last.
    """
    own, others = labels_apart(facts)
    most = max((facts.n_rows - 1) // 2, 1)
    # Where rows are replaced, there are as many as declared.
    enough = _rows_for(_CERTAIN, facts) if facts.neighboring == "add_remove" else most
    crowd = min(enough, most)
    X = entries_of(np.repeat([[1.0], [0.0]], crowd, axis=0) * np.ones(columns), facts)
    y = np.repeat([others[0], own], crowd)
    even = np.arange(columns) % 2 == 0
    rows = (entries_of(np.where(place, _BEYOND, 0.0), facts) for place in (even, ~even))
    present, absent = (joined(Table(X, y), 0, canary(row, own, facts)) for row in rows)
    if facts.neighboring == "add_remove":
        return present, Table(X, y)
    return filled(present, facts), filled(absent, facts)


def _rows_for(nats: float, facts: FewFacts) -> int:
    """Number of rows that together change a log-weight by ``nats``, up to a maximum."""
    return int(min(max(math.ceil(nats / facts.theta(0.0)), 6), _MOST_ROWS))
