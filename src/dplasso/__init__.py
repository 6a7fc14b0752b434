"""Differentially private sparse linear models by private Frank-Wolfe."""

from dplasso.data import ColumnMatrix
from dplasso.losses import LogisticLoss, SoftmaxLoss, SquaredLoss
from dplasso.privacy.calibration import calibrate, spent
from dplasso.solvers import Solution, frank_wolfe

__version__ = "0.1.0"

__all__ = [
    "ColumnMatrix",
    "LogisticLoss",
    "SoftmaxLoss",
    "Solution",
    "SquaredLoss",
    "calibrate",
    "frank_wolfe",
    "spent",
]
