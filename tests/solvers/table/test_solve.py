"""The fit to a table: agrees with plain arithmetic, repeats from its releases, and is refused."""

import math

import numpy as np
import pytest

from dplasso.data import ColumnBounds
from dplasso.data.table_cells import table_cells
from dplasso.losses import LogisticLoss, SoftmaxLoss, SquaredLoss
from dplasso.losses.encoded import EncodedLabels
from dplasso.mechanisms.grid_gaussian import GridGaussian
from dplasso.mechanisms.random_bits import random_bits
from dplasso.privacy import gaussian
from dplasso.solvers.table import TableSolution, fit_table, replay, table_margins
from dplasso.solvers.table import rows as rows_module
from dplasso.solvers.table import walk as walk_module
from dplasso.solvers.table.plan import CELL, TablePlan
from dplasso.solvers.table.questions import Question
from dplasso.solvers.table.rows import PrivateTable
from table_reference import descent
from tables import LOSSES, easy_table, multiplier, small_plan, square_limit


def problem(name: str, rows: int = 1500) -> tuple[np.ndarray, np.ndarray]:
    """Cells and encoded labels of an easy table for a loss."""
    classes = {"softmax": 3, "squared": 0, "huber": 0}.get(name, 2)
    X, y, ranges = easy_table(rows, classes)
    cells = table_cells(X, ColumnBounds.of(ranges, X.shape[1]))
    return cells, LOSSES[name].encode(y / 4.0 if classes == 0 else y)


def margins_of(solution: TableSolution, cells: np.ndarray) -> np.ndarray:
    return cells / CELL @ solution.weights.T + solution.intercepts


@pytest.mark.parametrize("name", LOSSES)
def test_without_noise_weights_are_those_of_plain_arithmetic(name: str) -> None:
    cells, y = problem(name)
    loss = LOSSES[name]
    plan = small_plan(loss, cells.shape[1], len(cells), epsilon=math.inf)
    found = fit_table(cells, y, loss=loss, plan=plan)
    weights, intercepts = descent(cells / CELL, y, loss, plan.steps)
    assert found.weights == pytest.approx(weights, rel=2e-3, abs=2e-3)
    assert found.intercepts == pytest.approx(intercepts, rel=2e-3, abs=2e-3)


@pytest.mark.parametrize("name", LOSSES)
def test_margins_of_the_rows_are_those_of_the_solution(name: str) -> None:
    """No row of this table is longer than margins see."""
    cells, y = problem(name)
    loss = LOSSES[name]
    plan = small_plan(loss, cells.shape[1], len(cells))
    found = fit_table(cells, y, loss=loss, plan=plan, generator=1)
    margins = table_margins(cells, found, loss=loss, plan=plan, n_threads=2)
    expected = (cells / CELL @ found.weights.T + found.intercepts).T
    assert np.median(np.abs(margins - expected)) < 1e-3
    order = np.random.default_rng(0).permutation(len(cells))[:7]
    alone = table_margins(cells[order], found, loss=loss, plan=plan, n_threads=1)
    assert np.array_equal(alone, margins[:, order])
    if plan.outputs > 1:
        apart = margins - margins.mean(axis=0)
        length = math.sqrt(np.mean(np.sum((apart.T - apart.mean(axis=1)) ** 2, axis=1)))
        assert found.margin_length == pytest.approx(length, rel=0.3)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("n_nonzero", [None, 3])
def test_releases_alone_give_the_same_weights_to_the_last_bit(
    name: str, n_nonzero: int | None
) -> None:
    cells, y = problem(name)
    loss, released = LOSSES[name], []
    plan = small_plan(loss, cells.shape[1], len(cells), n_nonzero=n_nonzero)
    found = fit_table(cells, y, loss=loss, plan=plan, generator=1, releases=released)
    again = replay(plan, loss, released)
    assert np.array_equal(again.weights, found.weights)
    assert np.array_equal(again.intercepts, found.intercepts)
    assert (again.length, again.margin_noise) == (found.length, found.margin_noise)
    expected = 4 + plan.has_products + len(plan.scale_steps) + plan.steps
    assert len(released) == expected
    if n_nonzero is not None:
        assert np.count_nonzero(found.weights) == n_nonzero
    with pytest.raises(ValueError, match="releases end before the fit does"):
        replay(plan, loss, released[:-1])


@pytest.mark.parametrize("name", LOSSES)
def test_a_fit_to_classes_stops_before_its_steps_if_noise_hides_the_columns(name: str) -> None:
    """Of numbers all steps are taken: they measure the mean of the labels."""
    cells, y = problem(name, 60)
    loss, released = LOSSES[name], []
    plan = small_plan(loss, cells.shape[1], len(cells), epsilon=0.01)
    found = fit_table(cells, y, loss=loss, plan=plan, generator=1, releases=released)
    before = 4 + plan.has_products
    all_of_them = before + len(plan.scale_steps) + plan.steps
    assert len(released) == (all_of_them if plan.pace.of_numbers else before)
    assert not found.weights.any()
    again = replay(plan, loss, released)
    assert np.array_equal(again.intercepts, found.intercepts)


@pytest.mark.parametrize("name", LOSSES)
def test_it_learns_an_easy_table(name: str) -> None:
    cells, y = problem(name)
    loss = LOSSES[name]
    plan = small_plan(loss, cells.shape[1], len(cells), epsilon=4.0)
    margins = margins_of(fit_table(cells, y, loss=loss, plan=plan, generator=0), cells)
    if plan.pace.of_numbers:
        assert np.mean((margins[:, 0] - y) ** 2) < 0.1 * np.var(y)
    elif plan.outputs == 1:
        assert np.mean((margins[:, 0] > 0) == y) > 0.9
    else:
        assert np.mean(margins.argmax(axis=1) == y) > 0.8


@pytest.mark.parametrize("neighboring", ["add_remove", "replace_one"])
@pytest.mark.parametrize("name", ["logistic", "softmax", "squared"])
def test_noise_that_is_drawn_costs_no_more_than_the_event(
    name: str, neighboring: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every place of every answer gets noise, and the whole of it costs what was asked."""
    cells, y = problem(name, 300)
    loss, drawn, asked = LOSSES[name], [], []
    plan = small_plan(loss, cells.shape[1], 300, neighboring=neighboring, epsilon=4.0)
    answer, add = PrivateTable.answer, GridGaussian.add_to

    def noted(self: PrivateTable, question: Question) -> np.ndarray:
        found = answer(self, question)
        asked.append((question, len(found)))
        drawn.append([])
        return found

    def recorded(self: GridGaussian, values: np.ndarray, *rest: object) -> None:
        before = values.copy()
        add(self, values, *rest)
        drawn[-1].append((self.sigma, values - before))

    monkeypatch.setattr(PrivateTable, "answer", noted)
    monkeypatch.setattr(GridGaussian, "add_to", recorded)
    fit_table(cells, y, loss=loss, plan=plan, generator=3)
    cost = 0.0
    for (question, places), noises in zip(asked, drawn, strict=True):
        assert sum(len(noise) for _, noise in noises) == places
        limit = float(square_limit(question, plan, replaced=neighboring == "replace_one"))
        cost += limit / noises[0][0] ** 2
        assert noises[0][0] == pytest.approx(multiplier(question, plan) * math.sqrt(limit))
    assert math.sqrt(cost) <= gaussian.mu_of(4.0, 1e-6) * (1.0 + 1e-9)
    steps = np.array(
        [
            noises[0][1] / noises[0][0]
            for _, noises in zip(asked, drawn, strict=True)
            if len(noises[0][1]) == plan.outputs * (plan.n_columns + 1)
        ]
    )
    assert 0.9 < steps.std() < 1.1 and len(np.unique(steps[:, 0])) == len(steps)


def test_the_result_does_not_depend_on_threads_blocks_or_the_order_of_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    order = np.random.default_rng(0).permutation(400)
    for name in ("softmax", "squared"):
        cells, y = problem(name, 400)
        options = {"loss": LOSSES[name], "generator": 5}
        options["plan"] = small_plan(LOSSES[name], cells.shape[1], 400)
        one = fit_table(cells, y, n_threads=1, **options)
        others = [fit_table(cells, y, n_threads=3, **options)]
        others.append(fit_table(cells[order], y[order], **options))
        with monkeypatch.context() as patch:
            patch.setattr(rows_module, "BLOCK", 7)
            others.append(fit_table(cells, y, n_threads=2, **options))
        for other in others:
            assert np.array_equal(other.weights, one.weights)
            assert np.array_equal(other.intercepts, one.intercepts)


def test_where_releases_are_the_same_so_is_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the data are: nothing but releases reaches the weights."""
    results = []
    for seed in (0, 1):
        X, y, ranges = easy_table(300, 2, seed)
        rng = np.random.default_rng(7)

        def fixed(self: GridGaussian, values: np.ndarray, *rest: object, rng=rng) -> None:  # type: ignore[no-untyped-def]
            values[:] = rng.normal(0.0, 30.0 * self.sigma, len(values)).astype(np.int64)

        monkeypatch.setattr(GridGaussian, "add_to", fixed)
        cells = table_cells(X, ColumnBounds.of(ranges, 4))
        plan = small_plan(LogisticLoss(), 4, 300, epsilon=8.0)
        results.append(fit_table(cells, y, loss=LogisticLoss(), plan=plan))
    assert np.array_equal(results[0].weights, results[1].weights)
    assert np.array_equal(results[0].intercepts, results[1].intercepts)


@pytest.mark.parametrize("epsilon", [0.001, 1.0, math.inf])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 30), (40, 1)])
@pytest.mark.parametrize("name", LOSSES)
def test_poor_tables_give_finite_weights(
    name: str, rows: int, columns: int, epsilon: float
) -> None:
    """One row, one column, constant columns, labels all alike, no products."""
    loss = LOSSES[name]
    plan = small_plan(loss, columns, rows, epsilon=epsilon)
    cells = np.zeros((rows, columns), np.int32)
    cells[:, 0] = CELL
    found = fit_table(cells, np.zeros(rows), loss=loss, plan=plan, generator=0)
    assert np.all(np.isfinite(found.weights)) and np.all(np.isfinite(found.intercepts))


@pytest.mark.parametrize("y_bound", [1e-290, 1e-200, 1.0, 1e200, 1e300])
def test_the_size_of_labels_does_not_matter(y_bound: float) -> None:
    cells, y = problem("squared")
    loss = SquaredLoss(y_bound=y_bound)
    plan = small_plan(loss, cells.shape[1], len(cells), epsilon=4.0)
    found = fit_table(cells, y / 2.0 * y_bound, loss=loss, plan=plan, generator=0)
    margins = margins_of(found, cells)[:, 0] / y_bound
    assert np.mean((margins - y / 2.0) ** 2) < 0.1 * np.var(y / 2.0)


def test_labels_that_are_nan_do_not_reach_the_weights() -> None:
    cells, y = problem("squared")
    y[::50] = math.nan
    plan = small_plan(LOSSES["squared"], cells.shape[1], len(cells), epsilon=4.0)
    options = {"loss": LOSSES["squared"], "plan": plan, "generator": 0}
    with pytest.raises(ValueError, match="y holds NaN or infinity"):
        fit_table(cells, y, **options)
    found = fit_table(cells, EncodedLabels(y), **options)
    error = margins_of(found, cells)[:, 0] - y
    assert np.nanmean(error**2) < 0.1 * np.nanvar(y)


def test_fresh_noise_every_time_and_the_same_for_a_seed() -> None:
    cells, y = problem("logistic", 200)
    options = {"loss": LogisticLoss(), "plan": small_plan(LogisticLoss(), 4, 200)}
    kept: list[list[np.ndarray]] = [[], [], [], []]
    for place, bits in enumerate([0, 0, random_bits(), random_bits()]):
        fit_table(cells, y, generator=bits, releases=kept[place], **options)
    same = [np.array_equal(a, b) for a, b in zip(kept[0], kept[1], strict=True)]
    assert all(same) and not np.any(kept[2][0] == kept[3][0])


def test_a_column_that_never_varies_mostly_gets_no_weight_where_noise_is_small() -> None:
    """Its weight can only be noise. Whether it varies is seen in its released spread."""
    cells, y = problem("logistic")
    cells = np.column_stack([np.full(len(cells), CELL // 5, np.int32), cells])
    loss = LOSSES["logistic"]
    plan = small_plan(loss, cells.shape[1], len(cells), epsilon=100.0)
    fits = [fit_table(cells, y, loss=loss, plan=plan, generator=seed) for seed in range(12)]
    assert sum(found.weights[0, 0] == 0.0 for found in fits) >= 7
    assert all(np.all(found.weights[0, 1:] != 0.0) for found in fits)


def test_re_weighted_columns_keep_the_length_of_rows_and_favour_what_showed() -> None:
    rng = np.random.default_rng(0)
    root = rng.normal(size=(6, 6))
    shape = walk_module.Shape(root @ root.T, 0.1, 0.25)
    weights, variances = np.array([[0.0, 0.5, 1.0, 3.0, 10.0, 1.0]]), np.ones((1, 6))
    shown = walk_module._shown(weights, variances)
    assert np.all(np.diff(shown[:5]) >= 0.0)
    assert shown[:3] == pytest.approx(walk_module.LEAST_SHOWN)
    assert walk_module.LEAST_SHOWN < shown[3] < shown[4] < 1.0
    scales = shape.column_scales(shown)
    variance = np.diag(root @ root.T)[:-1]
    assert np.sum(scales[:-1] ** 2 * variance) == pytest.approx(variance.sum())
    assert scales[-1] == 1.0  # the intercept


def test_indicators_have_a_quarter_of_the_variance_of_numbers_and_rows_keep_their_length() -> None:
    plan = small_plan(LOSSES["logistic"], 4, indicators=[1, 2])
    found = walk_module.variances_of(plan)
    assert found.mean() == pytest.approx(1.0)
    assert found == pytest.approx(found[0] * np.array([1.0, 0.25, 0.25, 1.0]))
    beside = walk_module.variances_of(plan.with_taken(2))
    assert beside == pytest.approx(beside[0] * np.array([1.0, 0.25, 0.25, 1.0, 0.25, 0.25]))
    for alike in ([], range(4)):
        plan = small_plan(LOSSES["logistic"], 4, indicators=alike)
        assert np.array_equal(walk_module.variances_of(plan), np.ones(4))


def test_products_that_are_all_noise_never_promise_margins_without_noise() -> None:
    """A released trace below 0 once read as rows without length, and as a fit without noise."""
    for matrix in (-np.eye(5), np.zeros((5, 5)), np.diag([1.0, -3.0, -3.0, 0.5, -1.0])):
        shape = walk_module.Shape(matrix, 0.2, 1.0)
        assert shape.preconditioner(np.ones(5, bool))[1] > 0.1


def test_eigenvalues_are_raised_just_enough_for_the_noise_that_is_allowed() -> None:
    everything = np.ones(4, bool)
    shape = walk_module.Shape(np.diag([0.1, 0.4, 1.0, 2.5]), 1e-3, 1.0)
    allowed = 3.0
    assert shape.preconditioner(everything)[1] > allowed
    floor = shape.floor_for(allowed)
    assert 0.0 < floor < 1.0
    assert shape.preconditioner(everything, floor)[1] == pytest.approx(allowed, rel=1e-9)
    assert shape.preconditioner(everything, 0.99 * floor)[1] > allowed
    assert shape.floor_for(1e3) == 0.0
    assert shape.floor_for(1e-3) == pytest.approx(1.0)  # the mean eigenvalue


def test_progress_counts_steps() -> None:
    cells, y = problem("logistic", 50)
    plan, told = small_plan(LogisticLoss(), 4), []
    fit_table(cells, y, loss=LogisticLoss(), plan=plan, progress=told.append)
    assert told == list(range(1, plan.steps + 1))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"plan": ("logistic", 5)}, "cells have 4 columns and the plan 5"),
        ({"plan": ("softmax", 4)}, "loss has 1 outputs and the plan 3"),
        ({"plan": ("squared", 4)}, "plan is for another loss than LogisticLoss"),
        ({"cells": np.zeros((7, 4))}, "cells must be a matrix of int32"),
        ({"cells": np.zeros(4, np.int32)}, "cells must be a matrix of int32"),
        ({"cells": np.full((7, 4), CELL + 1, np.int32)}, "cells must lie between 0 and 2"),
        ({"cells": np.full((7, 4), -1, np.int32)}, "cells must lie between 0 and 2"),
        ({"y": np.zeros(6)}, "differ in their number of rows; give one label per row"),
        ({"n_threads": 0}, "n_threads must be"),
        ({"generator": "x"}, "generator must be"),
        ({"loss": "logistic"}, "loss must be a Loss"),
    ],
)
def test_what_is_refused_names_no_data(change: dict, message: str) -> None:
    given = {"cells": np.zeros((7, 4), np.int32), "y": np.zeros(7), "loss": LogisticLoss()}
    given |= {"plan": ("logistic", 4)} | change
    name, columns = given["plan"]
    given["plan"] = small_plan(LOSSES[name], columns)
    with pytest.raises(ValueError, match=message) as raised:
        fit_table(given.pop("cells"), given.pop("y"), **given)
    assert "16777217" not in str(raised.value) and " 7 " not in str(raised.value)


def test_an_answer_longer_than_its_noise_is_never_released(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer = PrivateTable.answer

    def longer(self: PrivateTable, question: Question) -> np.ndarray:
        return np.append(answer(self, question), 1)

    monkeypatch.setattr(PrivateTable, "answer", longer)
    released: list[np.ndarray] = []
    plan: TablePlan = small_plan(SoftmaxLoss(classes=(0, 1, 2)), 4)
    with pytest.raises(AssertionError, match="places without noise"):
        fit_table(
            *(np.zeros((5, 4), np.int32), np.zeros(5)),
            loss=SoftmaxLoss(classes=(0, 1, 2)),
            plan=plan,
            releases=released,
        )
    assert not released
