"""A fit to a table on a card has the bits of one on threads: every release and the weights.

The card is its twin, which runs the same kernels and the same calls on the processor.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

from dplasso.data import ColumnBounds
from dplasso.data.table_cells import table_cells
from dplasso.data.wide_cells import WideCells
from dplasso.mechanisms.random_bits import random_bits
from dplasso.solvers.table import TableSolution
from dplasso.solvers.table.card_table import CardTable
from dplasso.solvers.table.plan import CELL, TablePlan
from dplasso.solvers.table.rows import PrivateTable
from dplasso.solvers.table.solve import ask
from tables import LOSSES, easy_table, small_plan
from twin import Twin

ROWS, WIDE = 700, 30
RNG = np.random.default_rng(0)
STEPS = 6
Facts = tuple[np.ndarray, np.ndarray, WideCells | None]


def rows_of(name: str, columns: int | None = None) -> Facts:
    classes = {"softmax": 3, "squared": 0, "huber": 0}.get(name, 2)
    X, y, ranges = easy_table(ROWS, classes)
    cells = table_cells(X, ColumnBounds.of(ranges, X.shape[1]))
    if columns is not None:
        cells = RNG.integers(0, CELL + 1, (ROWS, columns), dtype=np.int32)
        cells[3], cells[5], cells[:, 0] = 0, CELL, 7  # two extreme rows and a constant column
    return cells, LOSSES[name].encode(y / 4.0 if classes == 0 else y), None


def fitted(
    table: PrivateTable, name: str, plan: TablePlan
) -> tuple[TableSolution, list[np.ndarray]]:
    releases: list[np.ndarray] = []
    return ask(table, LOSSES[name], plan, random_bits(1), 2, releases), releases


def assert_same_bits(
    name: str,
    plan: TablePlan,
    rows: Facts,
    device: Twin,
    *,
    weights: np.ndarray | None = None,
    room: int | None = None,
) -> None:
    cells, labels, wide = rows
    facts = (cells, labels, LOSSES[name], plan, 2, wide, weights)
    found, mine = fitted(CardTable(device, *facts, room), name, plan)
    expected, others = fitted(PrivateTable(*facts), name, plan)
    for one, other in zip(mine, others, strict=True):
        assert np.array_equal(one, other)
    assert np.array_equal(found.weights, expected.weights)
    assert np.array_equal(found.intercepts, expected.intercepts)
    assert "table_sums" in device.launched and np.any(found.weights)


def planned(name: str, columns: int, **changes: object) -> TablePlan:
    plan = small_plan(LOSSES[name], columns, ROWS, **({"epsilon": 50.0} | changes))
    return replace(plan, steps=STEPS)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("columns", [None, 1, 70])
def test_a_card_has_the_bits_of_threads(name: str, columns: int | None) -> None:
    rows = rows_of(name, columns)
    assert_same_bits(name, planned(name, rows[0].shape[1]), rows, Twin())


@pytest.mark.parametrize("name", ["logistic", "softmax", "squared"])
def test_without_noise_bits_are_the_same(name: str) -> None:
    rows = rows_of(name)
    plan = planned(name, rows[0].shape[1], epsilon=math.inf)
    assert_same_bits(name, plan, rows, Twin())


@pytest.mark.parametrize("name", ["logistic", "softmax", "huber"])
def test_rows_of_people_count_the_same(name: str) -> None:
    rows = rows_of(name)
    weights = np.floor(RNG.uniform(size=ROWS) * 2.0**40) / 2.0**40
    weights[:50], weights[50] = 1.0, 0.0
    plan = planned(name, rows[0].shape[1], rows_per_person=2)
    assert_same_bits(name, plan, rows, Twin(), weights=weights)


@pytest.mark.parametrize("name", ["logistic", "softmax", "squared"])
@pytest.mark.parametrize("room", [1, 1500, 4000])
def test_a_table_that_does_not_fit_streams_through_the_card(name: str, room: int) -> None:
    rows = rows_of(name)
    rows = (rows[0][:90], rows[1][:90], None)
    plan, device = planned(name, rows[0].shape[1]), Twin()
    assert_same_bits(name, plan, rows, device, room=room)
    assert device.launched.count("table_sums") > STEPS


@pytest.mark.parametrize("name", ["logistic", "softmax"])
def test_lanes_share_rows_and_columns(name: str) -> None:
    cells, labels, _ = rows_of(name, 33)
    plan = replace(planned(name, 33), steps=2)
    assert_same_bits(name, plan, (cells[:150], labels[:150], None), Twin(lanes=True))


def test_wide_columns_that_are_taken_up_are_on_the_card() -> None:
    cells, labels, _ = rows_of("logistic")
    present = (RNG.random((ROWS, WIDE)) < 0.4).astype(float)
    wide = WideCells.of(present, ColumnBounds(1.0, None), np.arange(WIDE))
    plan = planned("logistic", cells.shape[1], n_wide=WIDE)
    device = Twin()
    assert_same_bits("logistic", plan, (cells, labels, wide), device)
    assert device.launched.count("table_sums") == STEPS


def test_labels_that_are_no_numbers_and_extreme_weights_count_the_same() -> None:
    cells, labels, _ = rows_of("squared")
    labels = labels.copy()
    labels[::7], labels[1::7], labels[2::7] = math.nan, math.inf, -1e308
    assert_same_bits("squared", planned("squared", cells.shape[1]), (cells, labels, None), Twin())
