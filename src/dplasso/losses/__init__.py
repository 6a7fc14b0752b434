"""Losses: what a solver may ask of one, and the three there are."""

from dplasso.losses.base import Loss
from dplasso.losses.logistic import LogisticLoss
from dplasso.losses.softmax import SoftmaxLoss
from dplasso.losses.squared import SquaredLoss

__all__ = ["LogisticLoss", "Loss", "SoftmaxLoss", "SquaredLoss"]
