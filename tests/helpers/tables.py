"""Small tables, their plans, and exact limits on what a row adds, for tests of the table solver."""

from fractions import Fraction

import numpy as np

from dplasso.data.wide_cells import WideCells
from dplasso.losses import LogisticLoss, Loss, SoftmaxLoss, SquaredLoss
from dplasso.losses.smoothed_hinge import SmoothedHingeLoss
from dplasso.solvers.table import plan_table
from dplasso.solvers.table.plan import CELL, TablePlan
from dplasso.solvers.table.questions import (
    CellSums,
    GradientSums,
    LabelSums,
    MeanSums,
    PresenceSums,
    Products,
    Question,
    ResidualSize,
    SpreadSums,
)
from dplasso.solvers.table.rows import PrivateTable

LOSSES: dict[str, Loss] = {
    "logistic": LogisticLoss(),
    "hinge": SmoothedHingeLoss(),
    "softmax": SoftmaxLoss(classes=(0, 1, 2)),
    "squared": SquaredLoss(y_bound=2.0),
    "huber": SquaredLoss(y_bound=2.0, residual_bound=0.5),
}


def small_plan(loss: Loss, columns: int, rows: int = 50, **changes: object) -> TablePlan:
    public = {"epsilon": 1.0, "delta": 1e-6, "n_rows": rows, "n_columns": columns} | changes
    return plan_table(loss, **public)


def private_table(
    cells: np.ndarray,
    labels: np.ndarray,
    loss: Loss,
    plan: TablePlan,
    threads: int = 1,
    wide: WideCells | None = None,
) -> PrivateTable:
    return PrivateTable(np.ascontiguousarray(cells, np.int32), labels, loss, plan, threads, wide)


def square(vector: np.ndarray, question: Question, plan: TablePlan) -> int:
    """Square of the exact length of an answer; of products, as a symmetric matrix."""
    squares = [int(number) ** 2 for number in vector.ravel()]
    if isinstance(question, Products):
        size = plan.n_columns + 1
        return sum(squares[:size]) + 2 * sum(squares[size:])
    return sum(squares)


def square_limit(question: Question, plan: TablePlan, *, replaced: bool) -> Fraction:
    """Largest squared length of what one row adds, or of the difference of two rows."""
    s, factor = plan.square_length, 4 if replaced else 1
    match question:
        case PresenceSums():
            return Fraction((2 if replaced else 1) * CELL**2)
        case CellSums():
            return Fraction(2 * CELL**2)
        case MeanSums(_, length):
            return Fraction(factor * length**2)
        case SpreadSums(_, length):
            return Fraction((2 if replaced else 1) * length**2)
        case LabelSums() if plan.pace.of_numbers:
            return Fraction((4 if replaced else 2) * CELL**2)
        case LabelSums():
            return Fraction((2 if replaced and plan.outputs > 1 else 1) * CELL**2)
        case Products():
            return Fraction((2 if replaced else 1) * s**2)
        case GradientSums():
            return Fraction(factor * plan.unit**2 * s)
        case ResidualSize():
            return Fraction(CELL**2)
    raise TypeError(question)


def multiplier(question: Question, plan: TablePlan) -> float:
    """The noise multiplier that the event of the plan has for a question."""
    return {
        PresenceSums: plan.presence_multiplier,
        CellSums: plan.cell_multiplier,
        MeanSums: plan.mean_multiplier,
        SpreadSums: plan.spread_multiplier,
        LabelSums: plan.label_multiplier,
        Products: plan.product_multiplier,
        GradientSums: plan.step_multiplier,
        ResidualSize: plan.scale_multiplier,
    }[type(question)]


def easy_table(
    rows: int = 1500, classes: int = 0, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, list[object]]:
    """Ages, flags and numbers, a label that depends on all of them, and their public ranges."""
    rng = np.random.default_rng(seed)
    age, flag = rng.uniform(20.0, 80.0, rows), rng.integers(0, 2, rows)
    rest = np.clip(rng.normal(size=(rows, 2)), -3.0, 3.0)
    X = np.column_stack([age, flag, rest])
    signal = (age - 50.0) / 15.0 + 2.0 * flag - 1.0 + rest @ [1.0, -0.5]
    ranges: list[object] = [(20, 80), (0, 1), 3.0, (-3.0, 3.0)]
    if classes == 0:
        return X, np.clip(signal + 0.3 * rng.normal(size=rows), -8.0, 8.0), ranges
    edges = np.quantile(signal, np.arange(1, classes) / classes)
    return X, np.searchsorted(edges, signal + 0.2 * rng.logistic(size=rows)), ranges
