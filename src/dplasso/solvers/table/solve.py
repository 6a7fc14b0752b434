"""Fit a table: ask questions, add noise to the answers, and follow what they say."""

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import ThreadpoolController  # scikit-learn installs it

from dplasso.base import checks
from dplasso.base import threads as pool
from dplasso.base.arrays import Floats, Ints
from dplasso.base.devices import on_card
from dplasso.data.wide_cells import WideCells
from dplasso.kernels.cuda import card as cards
from dplasso.losses import Loss, SquaredLoss, check_taken
from dplasso.losses.encoded import EncodedLabels, encoded, row_weights
from dplasso.mechanisms.grid_gaussian import GridGaussian, NoiseOf
from dplasso.mechanisms.random_bits import RandomBits, random_bits
from dplasso.solvers.table.card_table import CardTable
from dplasso.solvers.table.plan import CELL, LOSSES, TablePlan
from dplasso.solvers.table.questions import Answers, GradientSums
from dplasso.solvers.table.rows import PrivateTable
from dplasso.solvers.table.walk import TableSolution, walk


def fit_table(
    cells: NDArray[np.int32],
    y: ArrayLike | EncodedLabels,
    *,
    loss: Loss,
    plan: TablePlan,
    generator: int | np.random.Generator | RandomBits | None = None,
    n_threads: int | None = None,
    releases: list[Ints] | None = None,
    progress: Callable[[int], None] | None = None,
    noise_of: NoiseOf = GridGaussian,
    wide: WideCells | None = None,
    device: str = "cpu",
) -> TableSolution:
    """Minimise ``loss`` over linear models of a table, by noisy sums over its rows.

    ``cells``, rows x columns, are between 0 and 2^24 (`dplasso.data.table_cells`); ``wide`` are
    those of the wide columns, where the plan has some. ``plan`` is of `plan_table`, with the same
    loss. Every noisy answer is appended to ``releases``; `replay` needs nothing else. The other
    parameters are those of `dplasso.solvers.gradient.gradient_descent`.

    Formal guarantees
    -----------------
    The result is a function of public numbers and of the releases that ``plan`` lists, each the
    exact answer of `PrivateTable` to a question plus `GridGaussian` noise; each question depends on
    the releases before it. Together they are mu-GDP and (epsilon, delta)-DP as stated by ``plan``,
    under its neighbouring relation. The numbers of columns and declared rows, the bounds and the
    classes are public; errors name no value. The running time is not protected.
    """
    check_taken(loss, LOSSES, "the table solver")
    bits = random_bits(generator, name="generator")
    threads = pool.available() if n_threads is None else checks.count("n_threads", n_threads, 1)
    _check(cells, loss, plan)
    labels = encoded(loss, y, len(cells), "cells")
    _check_wide(wide, len(labels), plan)
    facts = (cells, labels, loss, plan, threads, wide, row_weights(y))
    table = CardTable(cards.checked_card(), *facts) if on_card(device) else PrivateTable(*facts)
    return ask(table, loss, plan, bits, threads, releases, progress, noise_of)


def ask(
    table: Answers,
    loss: Loss,
    plan: TablePlan,
    bits: RandomBits,
    threads: int,
    releases: list[Ints] | None = None,
    progress: Callable[[int], None] | None = None,
    noise_of: NoiseOf = GridGaussian,
) -> TableSolution:
    """Ask the questions of `fit_table`, of rows that are anywhere."""
    course, done = walk(plan, _y_bound(loss)), 0
    mechanism = cache(noise_of)  # all steps have the same noise
    # Rows are already divided among threads; those of BLAS would only compete with them.
    with bits.exclusive() as stream, _blas().limit(limits=1, user_api="blas"):
        question = next(course)
        while True:
            answer = table.answer(question)
            first = 0
            for count, sigma in question.noise(plan):
                mechanism(sigma).add_to(answer[first : first + count], stream, threads)
                first += count
            if first != len(answer):
                raise AssertionError("an answer has places without noise")
            if releases is not None:
                releases.append(answer)
            if isinstance(question, GradientSums):
                done += 1
                if progress is not None:
                    progress(done)
            try:
                question = course.send(answer)
            except StopIteration as end:
                solution: TableSolution = end.value
                return solution


def table_margins(
    cells: NDArray[np.int32],
    solution: TableSolution,
    *,
    loss: Loss,
    plan: TablePlan,
    n_threads: int,
    wide: WideCells | None = None,
) -> Floats:
    """Margins that a solution gives the rows of its fit, outputs x rows: never release them.

    Formal guarantees
    -----------------
    A row's margins are a function of that row, ``plan`` and ``solution`` alone, to the last bit.
    """
    table = PrivateTable(cells, np.zeros(len(cells)), loss, plan, n_threads, wide)
    with _blas().limit(limits=1, user_api="blas"):
        return table.margins(solution.at)


def replay(plan: TablePlan, loss: Loss, releases: Sequence[Ints]) -> TableSolution:
    """Return the solution again, from the releases alone."""
    course = walk(plan, _y_bound(loss))
    with _blas().limit(limits=1, user_api="blas"):  # as in the fit, to the last bit
        next(course)
        try:
            for released in releases:
                course.send(released)
        except StopIteration as end:
            solution: TableSolution = end.value
            return solution
    raise ValueError("releases end before the fit does; pass all of them")


@cache
def _blas() -> ThreadpoolController:
    """Looking for the libraries takes milliseconds, so it is done once per process."""
    return ThreadpoolController()


def _y_bound(loss: Loss) -> float:
    return loss.y_bound if isinstance(loss, SquaredLoss) else 1.0


def _check(cells: NDArray[np.int32], loss: Loss, plan: TablePlan) -> None:
    if cells.dtype != np.int32 or cells.ndim != 2:
        raise ValueError("cells must be a matrix of int32; build them with table_cells")
    if cells.shape[1] != plan.n_columns:
        raise ValueError(
            f"cells have {cells.shape[1]} columns and the plan {plan.n_columns}; plan for those"
        )
    if loss.outputs != plan.outputs:
        raise ValueError(f"loss has {loss.outputs} outputs and the plan {plan.outputs}; plan anew")
    if loss.table_pace() != plan.pace:
        raise ValueError(f"plan is for another loss than {type(loss).__name__}; plan for that one")
    if cells.size and not 0 <= cells.min() <= cells.max() <= CELL:
        raise ValueError("cells must lie between 0 and 2^24; build them with table_cells")


def _check_wide(wide: WideCells | None, n_labels: int, plan: TablePlan) -> None:
    shape = (n_labels, 0) if wide is None else (wide.n_rows, len(wide.at_zero))
    if shape[1] != plan.n_wide:
        raise ValueError(
            f"there are {shape[1]} wide columns and the plan has {plan.n_wide}; plan for those"
        )
    if shape[0] != n_labels:
        raise ValueError("wide and y differ in their number of rows; give one label per row")
    if (
        wide is not None
        and len(wide.cells)
        and not 0 <= wide.cells.min() <= wide.cells.max() <= CELL
    ):
        raise ValueError("wide cells must lie between 0 and 2^24; build them with WideCells.of")
    if wide is not None and not wide.is_sound:
        raise ValueError(
            "wide must have increasing rows within each column; build it with WideCells.of"
        )
