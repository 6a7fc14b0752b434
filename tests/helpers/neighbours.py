"""Exact checks that tests of the gradient solver share."""

from fractions import Fraction

import numpy as np

from dplasso.data.unit_rows import UnitRows
from dplasso.losses import LogisticLoss, Loss, SoftmaxLoss, SquaredLoss
from dplasso.solvers.gradient import plan_descent
from dplasso.solvers.gradient.plan import ROW_LENGTH, GradientPlan
from dplasso.solvers.gradient.rows import PrivateRows

LOSSES = {
    "logistic": LogisticLoss(),
    "softmax": SoftmaxLoss(classes=(0, 1, 2)),
    "squared": SquaredLoss(y_bound=2.0),
    "huber": SquaredLoss(y_bound=5.0, residual_bound=0.5),
}


def small_plan(loss: Loss, columns: int, rows: int = 50, **changes: object) -> GradientPlan:
    public = {"epsilon": 1.0, "delta": 1e-6, "n_rows": rows, "n_columns": columns} | changes
    return plan_descent(loss, **public)


def private_rows(
    X: np.ndarray, y: np.ndarray, loss: Loss, plan: GradientPlan, scaling: str, threads: int = 1
) -> PrivateRows:
    return PrivateRows(UnitRows.of(X, scaling), loss.encode(y), loss, plan, threads)


def square(vector: np.ndarray) -> int:
    """Square of an exact length."""
    return sum(int(number) ** 2 for number in vector.ravel())


def assert_charged_for_mass(change: np.ndarray, plan: GradientPlan) -> None:
    assert square(change) <= (2**plan.unit_bits) ** 2


def assert_charged_for_step(change: np.ndarray, plan: GradientPlan) -> None:
    """Assert that a change is within the charge, for columns alone and with the intercepts."""
    unit = 2**plan.unit_bits
    assert square(change[:, :-1]) <= unit**2
    assert square(change) <= (Fraction(ROW_LENGTH) * unit) ** 2
