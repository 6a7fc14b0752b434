"""Logistic loss for two classes."""

from typing import Any

import numpy as np
from scipy.special import expit, log_expit

from dplasso.base.arrays import Floats
from dplasso.kernels.arithmetic import sigmoid
from dplasso.kernels.residuals import LOGISTIC, Loops
from dplasso.losses.base import Probabilities, TwoClassLoss
from dplasso.losses.pace import Pace, Paces, Thresholds


def _residuals(margins: Any, labels: Any, count: int, scale: float, shape: float) -> None:
    for k in range(count):
        margins[k] = sigmoid(margins[k] * scale) - labels[k]


def _curvatures(margins: Any, labels: Any, count: int, scale: float, shape: float) -> None:
    for k in range(count):
        p = sigmoid(margins[k] * scale)
        margins[k] = p * (1.0 - p)


class LogisticLoss(TwoClassLoss, Probabilities):
    """Logistic loss, log(1 + e^m) - y m, with y = 1 for the second class and 0 for the first.

    The row gradient is sigmoid(m) - y. It lies in (-1, 1), its slope in (0, 1/4].

    Parameters
    ----------
    classes : sequence of two labels, default (0, 1)
        The labels; the second one counts as 1.

    Examples
    --------
    >>> LogisticLoss(classes=("no", "yes")).encode(["yes", "no"])
    array([1., 0.])
    """

    loops = Loops(_residuals, _curvatures, LOGISTIC)
    curvature = (0.0, 0.25)
    curvature_turn = 0.0963  # the largest |p (1 - p) (1 - 2 p)| is 1 / (6 sqrt 3) = 0.09623
    lipschitz = 0.25
    usual_clip = 0.5  # residuals begin at a half: a larger bound would only let mistakes grow

    def gradient_bound(self, radius: float, x_bound: float) -> float:
        return float(expit(radius * x_bound))

    def values(self, margins: Floats, labels: Floats) -> Floats:
        m = margins[:, 0]
        found: Floats = np.logaddexp(0.0, m) - labels * m
        return found

    def gradient(self, margins: Floats, labels: Floats) -> Floats:
        gradient: Floats = expit(margins) - labels[:, None]
        return gradient

    def paces(self) -> Paces:
        # With a clip at a fifth, all rows count equally until they are predicted correctly with
        # probability 0.9. Residuals of probabilities level off, so steps may be long.
        return Paces(
            wide=Pace(
                cut=0.2,
                margin_noise=3.5,
                longest_step=600.0,
                intercept_step=10.0,
                fewest_steps=30,
                thresholds=Thresholds(least=0.001, centred=5.0),
                intercept_noise=0.25,
                clear_from=0.75,
            ),
            narrow=Pace(
                cut=0.85,
                margin_noise=4.0,
                longest_step=300.0,
                intercept_step=20.0,
                fewest_steps=40,
                thresholds=Thresholds(least=0.014, centred=28.0, damped=2.0, shared=0.3),
                mass_share=0.1,
                most_steps=600,
                lengthened=4.0,
            ),
        )

    @staticmethod
    def probabilities(margins: Floats) -> Floats:
        m = margins[:, 0]
        found = np.empty((len(m), 2))
        expit(-m, out=found[:, 0])
        expit(m, out=found[:, 1])
        return found

    @staticmethod
    def log_probabilities(margins: Floats) -> Floats:
        m = margins[:, 0]
        return np.stack([log_expit(-m), log_expit(m)], axis=1)
