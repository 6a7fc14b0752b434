"""Data for audits of a descent."""

import numpy as np

from dplasso.audit import synthetic
from dplasso.audit.descent.reference import Course, DescentFacts, ReferenceRows
from dplasso.audit.reference import PRESENCE, Table, entries_of
from dplasso.base.arrays import Floats, Ints

_CERTAIN = 8.0  # times the mass of a centre of length 1: noise cannot hide it
_BEYOND = 8.0  # times the bound: a fit must clip such entries
_ROWS = 160
_CROWD = 1000  # rows, at most, that lower the canary's margin
_ENTRIES = 40  # most entries of rows with a few entries
_MOST = 2.0**61  # largest number of a forged release


def random_rows(columns: int, facts: DescentFacts, rng: np.random.Generator) -> Table:
    """Columns from nearly empty to full, rows from empty to full, entries of all sizes."""
    density = np.geomspace(2.0 / _ROWS, 1.0, columns)
    X = rng.normal(size=(_ROWS, columns)) * 10.0 ** rng.uniform(-2.0, 2.0, (_ROWS, 1))
    X *= rng.random((_ROWS, columns)) < density
    X[0] = 0.0
    y = synthetic.random_labels(_ROWS, facts, rng)
    y[: facts.classes] = np.arange(facts.classes)
    return synthetic.gathered(filled(Table(entries_of(X, facts), y), facts), facts, rng)


def filled(table: Table, facts: DescentFacts) -> Table:
    """Where rows are replaced: the declared number of rows, by adding empty ones or cutting.

    The rows of people may be any number.
    """
    if facts.neighboring == "add_remove" or facts.of_people:
        return table
    more = max(facts.n_rows - len(table.y), 0)
    label = synthetic.labels_apart(facts)[1][0]
    X = np.vstack([table.X, entries_of(np.zeros((more, table.X.shape[1])), facts)])
    return Table(X[: facts.n_rows], np.append(table.y, np.full(more, label))[: facts.n_rows])


def extreme_row(
    columns: int, facts: DescentFacts, rng: np.random.Generator
) -> tuple[Floats, float]:
    """A row with the largest effect or none, with huge entries, or with a few entries."""
    row, label = synthetic.random_row(columns, facts, rng)
    kind = rng.integers(5)
    if kind == 0:
        row = np.zeros(columns)
    elif kind == 1:
        row = row * 10.0 ** rng.uniform(-12.0, 12.0, columns)
    elif kind > 2:
        # Lengths are roots of the number of entries: among many numbers, some round up.
        row[rng.permutation(columns)[int(rng.integers(1, _ENTRIES + 1)) :]] = 0.0
    return row, label


def neighbours(
    columns: int, facts: DescentFacts, rng: np.random.Generator
) -> tuple[Table, Table, Floats]:
    """Rows and labels, those of a neighbour, and the row that only the first table has."""
    table = random_rows(columns, facts, rng)
    row, label = extreme_row(columns, facts, rng)
    rows = len(table.y)
    if facts.neighboring == "add_remove":
        at = int(rng.integers(rows + 1))
        return synthetic.joined(table, at, synthetic.newcomer(row, label, facts, rng)), table, row
    at = int(rng.integers(rows))
    other, others = extreme_row(columns, facts, rng)
    # The replacements with the largest effect: the same row with another label, or its negative.
    other, rest = (row, -row, other)[rng.integers(3)], synthetic.left(table, at)
    one, two = (
        synthetic.joined(rest, min(at, len(rest.y)), synthetic.newcomer(*both, facts, rng))
        for both in ((row, label), (other, others))
    )
    return one, two, row


def forged_releases(
    row: Floats, course: Course, facts: DescentFacts, rng: np.random.Generator
) -> list[Ints]:
    """Releases that no data would give: huge weights, and centres at the row itself."""
    columns, total = len(row), course.unit * facts.n_rows
    unit = ReferenceRows.of(Table(row[None, :], np.zeros(1)), facts).units[0]
    kind = rng.integers(3)
    if kind == 0:
        mean = _CERTAIN * unit if rng.random() < 0.5 else unit
    elif kind == 1:
        mean = rng.uniform(0.0, 1.0, columns) * (rng.random(columns) < 0.5)
    else:
        mean = rng.normal(size=columns) * 10.0 ** rng.uniform(-4.0, 0.0, columns)
    releases = [mean * total]
    shown = rng.random((facts.outputs, columns + 1)) < 0.1
    for _ in range(course.steps):
        size = 10.0 ** rng.uniform(-2.0, 3.0)
        noise = rng.normal(size=shown.shape) * np.where(shown, size, 1e-3)
        releases.append(noise.ravel() * total)
    return [np.clip(release, -_MOST, _MOST).astype(np.int64) for release in releases]


def canary_rows(columns: int, facts: DescentFacts) -> synthetic.Neighbours:
    """A crowd of rows, with and without a canary as the last row.

    The crowd consists of empty rows with another label: they lower the intercept, and with it the
    canary's margin, so that its residual is at its bound from the first step to the last. Where
    rows are replaced, the rival has the canary's label and the opposite direction; where only
    presence counts, it has the columns that the canary lacks.
    """
    own, others = synthetic.labels_apart(facts)
    crowd = facts.n_rows - 1 if facts.neighboring == "replace_one" else min(facts.n_rows, _CROWD)
    signs = np.where(np.arange(columns) % 2 == 0, 1.0, -1.0)
    canary, rival = _BEYOND * signs, -_BEYOND * signs
    if facts.row_map == PRESENCE:
        canary, rival = np.where(signs > 0.0, canary, 0.0), np.where(signs > 0.0, 0.0, canary)
    canary, rival = entries_of(canary, facts), entries_of(rival, facts)
    table = Table(entries_of(np.zeros((crowd, columns)), facts), np.full(crowd, others[0]))
    present, absent = (
        synthetic.joined(table, crowd, synthetic.canary(row, own, facts)) for row in (canary, rival)
    )
    return present, absent if facts.neighboring == "replace_one" else table
