"""Bugs in the bounds of losses and of labels."""

import numpy as np
from scipy.special import expit

from dplasso.losses import SoftmaxLoss, SquaredLoss
from dplasso.losses.labels import one_dimensional


def softmax_bound_of_two_classes(monkeypatch):
    """Several classes have the bound of two, which is the same for long rows.

    At weights of 0 a row of K classes moves a score by 1 - 1/K, and noise is for 1/2: factor 4/3
    for three classes.
    """
    monkeypatch.setattr(
        SoftmaxLoss, "gradient_bound", lambda self, radius, x_bound: float(expit(radius * x_bound))
    )


def residual_as_long_as_the_longer(monkeypatch):
    """A residual is as large as the prediction or the label, whichever is larger.

    They may have opposite signs: factor 2 where both bounds are equal.
    """
    monkeypatch.setattr(
        SquaredLoss,
        "gradient_bound",
        lambda self, radius, x_bound: min(max(radius * x_bound, self.y_bound), self.clip),
    )


def labels_cut_above_alone(monkeypatch):
    """Labels are clipped only from above, on the belief that they are never negative.

    One row of label -100 y_bound moves every score a hundred times as far as stated.
    """

    def encode(self, y):
        return np.minimum(one_dimensional(y).astype(np.float64), self.y_bound)

    monkeypatch.setattr(SquaredLoss, "encode", encode)
