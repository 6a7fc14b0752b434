"""Data for audits of the table solver."""

from typing import Any

import numpy as np

from dplasso.audit import synthetic
from dplasso.audit.descent import data as descent_data
from dplasso.audit.descent.recording import Recording
from dplasso.audit.reference import AS_IS, PRESENCE, Table, column_bounds
from dplasso.audit.table.facts import TableFacts
from dplasso.base.arrays import Floats, Ints
from dplasso.mechanisms.grid_gaussian import GridGaussian

CROWD = 20  # rows around the canary
_LIKE_IT = 2  # of them, rows with the canary's entries and another label
_BEYOND = 8.0  # times the bound: a fit must clip such entries
_MOST = 2.0**61  # largest number of a forged release


def entries_at(ends: Floats, facts: TableFacts) -> Floats:
    """A row beyond the high end (1) or the low end (-1) of every column's range.

    Of wide columns, those at the low end are left out.
    """
    if facts.row_map == PRESENCE:
        return np.where(ends > 0.0, 1.0, 0.0)
    if facts.row_map == AS_IS:
        low, high = facts.ends(len(ends))
        row = (low + high) / 2.0 + _BEYOND * ends * (high - low) / 2.0
        is_wide = np.arange(len(ends)) >= facts.in_table(len(ends))
        return np.where(is_wide & (ends < 0.0), 0.0, row)
    return _BEYOND * ends * column_bounds(len(ends), facts)


def canary_rows(columns: int, facts: TableFacts) -> synthetic.Neighbours:
    """A crowd of rows, with and without a canary as the last row.

    Most of the crowd is at the other end of every column. So the canary is far from the released
    means, longer than the lengths to which rows are cut, and equally long in every column. A few
    rows are where it is, and the whole crowd has another label: whatever is released, the canary's
    residual is clipped. Where rows are replaced, the rival has its label and the other ends.
    """
    own, others = synthetic.labels_apart(facts)
    ends = np.where(np.arange(columns) % 2 == 0, 1.0, -1.0)
    canary, rival = entries_at(ends, facts), entries_at(-ends, facts)
    crowd = CROWD - (facts.neighboring == "replace_one")
    X = np.vstack([np.tile(rival, (crowd - _LIKE_IT, 1)), np.tile(canary, (_LIKE_IT, 1))])
    table = Table(X, np.full(crowd, others[0]))
    present, absent = (
        synthetic.joined(table, crowd, synthetic.canary(row, own, facts)) for row in (canary, rival)
    )
    return present, absent if facts.neighboring == "replace_one" else table


def neighbours(columns: int, facts: TableFacts, rng: np.random.Generator) -> synthetic.Neighbours:
    """Two tables, of which one has a row more, or another row in one place."""
    table = descent_data.random_rows(columns, facts, rng)
    at, (row, label) = int(rng.integers(len(table.y))), _far_row(columns, facts, rng)
    if facts.neighboring == "add_remove":
        return synthetic.joined(table, at, synthetic.newcomer(row, label, facts, rng)), table
    other, others = _far_row(columns, facts, rng)
    # The replacements with the largest effect: the same row with another label, or its negative.
    other = (row, -row, other)[rng.integers(3)]
    if facts.in_table(columns) < columns and rng.random() < 0.5:
        # Of wide columns, those that the other row lacks: no other rows are as far apart.
        row, other = (entries_at(rng.choice([-1.0, 1.0], columns), facts) for _ in range(2))
        own = rng.random(columns) < 0.5
        own[: facts.in_table(columns)] = True
        row, other = np.where(own, row, 0.0), np.where(own, 0.0, other)
    rest = synthetic.left(table, at)
    one, two = (
        synthetic.joined(rest, min(at, len(rest.y)), synthetic.newcomer(*both, facts, rng))
        for both in ((row, label), (other, others))
    )
    return one, two


def _far_row(columns: int, facts: TableFacts, rng: np.random.Generator) -> tuple[Floats, float]:
    """A row at some ends of all ranges, which is longer than most cuts, or any extreme row."""
    row, label = descent_data.extreme_row(columns, facts, rng)
    if rng.random() < 0.7:
        row = entries_at(rng.choice([-1.0, 1.0], columns), facts)
    return row, label


class SharedRecording(Recording):
    """A recording whose tables of noise are shared by all fits of a subject."""

    def __init__(self, made: dict[float, GridGaussian]) -> None:
        super().__init__()
        self._made = made


class Hostile(Recording):
    """Replaces releases by numbers that no data would give, or by noisy sums, in turns.

    A release may be the exact sums with noise, almost without, or with far too much; or nothing but
    huge numbers of a few columns. So weights, centres, lengths and clips go to extremes.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__()
        self._rng = rng
        # Before the steps, where lengths follow from the releases, and from there on.
        self._kinds = rng.choice(4, p=(0.4, 0.4, 0.1, 0.1)), rng.integers(4)

    def release(self, sigma: float, values: Ints, generator: Any, threads: int | None) -> None:
        rng, kind = self._rng, self._kinds[int(len(self.found) > self.HALFWAY)]
        noise = sigma * rng.normal(size=values.shape)
        if kind == 0:
            forged = values + noise
        elif kind == 1:
            forged = values + 1e-3 * noise
        elif kind == 2:
            forged = values + noise * 10.0 ** rng.uniform(0.0, 4.0)
        else:
            shown = rng.random(values.shape) < 0.3
            forged = np.where(shown, noise, 1e-3 * noise) * 10.0 ** rng.uniform(0.0, 6.0)
        values[:] = np.clip(forged, -_MOST, _MOST).astype(np.int64)
