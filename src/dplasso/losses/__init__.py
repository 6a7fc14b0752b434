"""Losses: one per file, and a registry of the names that users pass.

`base.py` says what a solver may ask of a loss, and how to add one.
"""

from dplasso.losses.base import Loss, OneMarginLoss, check_taken, number_on_card, residual_on_card
from dplasso.losses.logistic import LogisticLoss
from dplasso.losses.registry import CLASS_LOSSES, class_loss, loss_of_classes
from dplasso.losses.softmax import SoftmaxLoss
from dplasso.losses.squared import SquaredLoss

__all__ = [
    "CLASS_LOSSES",
    "LogisticLoss",
    "Loss",
    "OneMarginLoss",
    "SoftmaxLoss",
    "SquaredLoss",
    "check_taken",
    "class_loss",
    "loss_of_classes",
    "number_on_card",
    "residual_on_card",
]
