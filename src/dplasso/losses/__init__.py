"""Losses: what a solver may ask of one, and the four there are."""

from dplasso.losses.base import Loss
from dplasso.losses.logistic import LogisticLoss
from dplasso.losses.smoothed_hinge import SmoothedHingeLoss
from dplasso.losses.softmax import SoftmaxLoss
from dplasso.losses.squared import SquaredLoss

__all__ = ["LogisticLoss", "Loss", "SmoothedHingeLoss", "SoftmaxLoss", "SquaredLoss"]
