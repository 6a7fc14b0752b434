"""Wide columns beside a table: what a row adds to their counts, and which are taken up."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dplasso.data import ColumnBounds
from dplasso.data.table_cells import table_cells
from dplasso.data.wide_cells import WideCells
from dplasso.kernels.wide_table import presence_lengths
from dplasso.losses import LogisticLoss
from dplasso.privacy import gaussian
from dplasso.solvers.table import fit_table, replay
from dplasso.solvers.table.plan import CELL
from dplasso.solvers.table.questions import PresenceSums
from storages import FORMS
from tables import LOSSES, easy_table, multiplier, private_table, small_plan, square, square_limit

WIDE = 40
LOSS = LogisticLoss()
entries = st.sampled_from([0.0, 1.0, -1.0, 1e300, -1e-300, 1e-9]) | st.floats(-2.0, 2.0)


def wide_of(X: np.ndarray) -> WideCells:
    return WideCells.of(X, ColumnBounds(1.0, None), np.arange(X.shape[1]))


def presences(X: np.ndarray, threads: int = 1) -> np.ndarray:
    rows, plan = X.shape[0], small_plan(LOSS, 2, n_wide=X.shape[1], epsilon=50.0)
    cells = np.zeros((rows, 2))
    table = private_table(cells, np.zeros(rows), LOSS, plan, threads, wide_of(X))
    return table.answer(PresenceSums())


def test_a_row_is_as_long_as_it_may_be_whatever_its_presences() -> None:
    """In whole numbers: k v^2 is at most CELL^2, and that of v + 1 would be more."""
    counts = np.concatenate([np.arange(1, 3000), 2 ** np.arange(12, 22)])
    rows = np.repeat(np.arange(len(counts)), counts)
    for count, each in zip(counts.tolist(), presence_lengths(rows, len(counts), None), strict=True):
        assert count * int(each) ** 2 <= CELL**2 < count * (int(each) + 1) ** 2
    assert presence_lengths(rows[:0], 3, None).tolist() == [0, 0, 0]


@settings(deadline=None, max_examples=60)
@given(hnp.arrays(np.float64, (4, WIDE), elements=entries))
def test_a_row_changes_the_presences_by_no_more_than_is_charged(X: np.ndarray) -> None:
    plan = small_plan(LOSS, 2, n_wide=WIDE, epsilon=50.0)
    whole = presences(X)
    one, two = whole - presences(X[1:]), whole - presences(X[[1, 1, 2, 3]])
    question = PresenceSums()
    assert square(one, question, plan) <= square_limit(question, plan, replaced=False)
    assert square(two, question, plan) <= square_limit(question, plan, replaced=True)
    assert np.array_equal(whole, sum(presences(X[i : i + 1]) for i in range(4)))


@settings(deadline=None, max_examples=20)
@given(hnp.arrays(np.int8, (6, WIDE), elements=st.integers(-2, 2)), st.integers(0, 99))
def test_storage_kind_order_and_threads_change_no_bit(X: np.ndarray, seed: int) -> None:
    found = presences(X.astype(np.float64))
    for kind in (np.int8, np.float32, np.int64):
        assert np.array_equal(presences(X.astype(kind)), found)
    for form in ("csr", "csc", "coo with repeats", "csc with repeats and zeros"):
        stored = FORMS[form](X.astype(np.float64))
        assert np.array_equal(presences(stored, threads=3), found)
        for cells in ("cells", "indices", "indptr"):
            assert np.array_equal(
                getattr(wide_of(stored), cells), getattr(wide_of(X.astype(float)), cells)
            )
    order = np.random.default_rng(seed).permutation(len(X))
    assert np.array_equal(presences(X[order]), found)


@pytest.mark.parametrize("neighboring", ["add_remove", "replace_one"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 50.0])
def test_noise_is_never_below_multiplier_times_sensitivity(
    neighboring: str, epsilon: float
) -> None:
    options = {"n_wide": 5000, "epsilon": epsilon, "neighboring": neighboring}
    plan, question = small_plan(LOSS, 9, 10**4, **options), PresenceSums()
    ((places, sigma),) = question.noise(plan)
    limit = square_limit(question, plan, replaced=neighboring == "replace_one")
    assert Fraction(sigma) ** 2 >= Fraction(multiplier(question, plan)) ** 2 * limit
    assert places == 5000 and 0 < plan.most_taken <= 191
    assert gaussian.mu(plan.event) == pytest.approx(plan.mu, rel=1e-9)


def test_without_room_for_more_columns_nothing_is_released() -> None:
    plan = small_plan(LOSS, 200, 10**4, n_wide=5000)
    assert not plan.has_wide
    assert plan.event == small_plan(LOSS, 200, 10**4).event


def mixed_table(rows: int = 1500) -> tuple[np.ndarray, WideCells, np.ndarray]:
    """An easy table, whose flag is given as two frequent ones of 3,000 wide columns instead."""
    X, y, ranges = easy_table(rows, 2)
    cells = table_cells(X[:, [0, 2, 3]], ColumnBounds.of([ranges[k] for k in (0, 2, 3)], 3))
    rng = np.random.default_rng(0)
    columns = np.column_stack([X[:, 1].astype(int) * 1000 + 500, rng.integers(0, 3000, rows)])
    places = np.repeat(np.arange(rows), 2), columns.ravel()
    wide = sp.csr_array((np.ones(2 * rows), places), shape=(rows, 3000))
    return cells, wide_of(wide), y


@pytest.mark.parametrize("name", ["logistic", "hinge", "softmax", "squared"])
@pytest.mark.parametrize("n_nonzero", [None, 3])
def test_frequent_wide_columns_are_taken_up_and_repeat_from_releases(
    name: str, n_nonzero: int | None
) -> None:
    cells, wide, y = mixed_table()
    loss, released = LOSSES[name], []
    public = {"n_wide": 3000, "epsilon": 4.0, "n_nonzero": n_nonzero}
    plan = small_plan(loss, 3, len(y), **public)
    options = {"loss": loss, "plan": plan, "wide": wide}
    found = fit_table(cells, loss.encode(y), generator=1, releases=released, **options)
    assert {500, 1500} <= set(found.taken) and len(found.taken) <= 4
    assert found.weights.shape == (loss.outputs, 3 + len(found.taken))
    if n_nonzero is not None:
        assert np.count_nonzero(found.weights) == n_nonzero
    again = replay(plan, loss, released)
    assert again.taken == found.taken and np.array_equal(again.weights, found.weights)
    assert len(released[0]) == 3000
    other = fit_table(cells, loss.encode(y), generator=1, n_threads=3, **options)
    assert np.array_equal(other.weights, found.weights)


def test_noise_alone_takes_up_hardly_any_column() -> None:
    """A share of the columns of less than one in sqrt(pi ln D) is expected: not one."""
    cells, _, y = mixed_table()
    nothing = wide_of(sp.csr_array((len(y), 3000)))
    plan = small_plan(LOSS, 3, len(y), n_wide=3000)
    fits = [
        fit_table(cells, y, loss=LOSS, plan=plan, wide=nothing, generator=seed)
        for seed in range(10)
    ]
    assert sum(len(found.taken) for found in fits) <= 8


def test_the_wide_part_takes_no_memory_for_its_columns_times_rows() -> None:
    rows = 100_000
    places = np.arange(rows), np.arange(rows) % 50_000
    found = wide_of(sp.csr_array((np.ones(rows), places), shape=(rows, 50_000)))
    held = sum(getattr(found, name).nbytes for name in ("indptr", "indices", "cells", "at_zero"))
    assert held < 20 * (rows + 50_000)


@pytest.mark.parametrize(
    ("wide", "said"),
    [
        (None, "there are 0 wide columns and the plan has 40"),
        (np.zeros((5, 41)), "there are 41 wide columns"),
        (np.zeros((6, 40)), "differ in their number of rows"),
    ],
)
def test_what_is_refused(wide: np.ndarray | None, said: str) -> None:
    plan = small_plan(LOSS, 4, n_wide=40)
    given_ = None if wide is None else wide_of(wide)
    with pytest.raises(ValueError, match=said):
        fit_table(np.zeros((5, 4), np.int32), np.zeros(5), loss=LOSS, plan=plan, wide=given_)


def test_some_rows_of_wide_cells_are_those_of_some_rows() -> None:
    X = np.random.default_rng(0).integers(-1, 2, (9, 7)).astype(float)
    for rows in (slice(None, -1), slice(-1, None), slice(2, 5)):
        part = wide_of(X).of_rows(rows)
        assert np.array_equal(part.columns(range(7)), wide_of(X[rows]).columns(range(7)))


def test_without_noise_all_columns_that_occur_are_taken_up_to_the_limit() -> None:
    cells, wide, y = mixed_table()
    plan = small_plan(LOSS, 3, len(y), n_wide=3000, epsilon=math.inf)
    found = fit_table(cells, y, loss=LOSS, plan=plan, wide=wide)
    assert len(found.taken) == plan.most_taken == 197
