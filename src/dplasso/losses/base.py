"""The interface of a loss.

To add a loss with one margin per row: write one file with its two loops and its class, and add one
line to `registry.py`. The loops, compiled, are all that kernels use of it (`kernels/residuals.py`).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dplasso.base.arrays import Floats
from dplasso.base.wording import ParameterError, Setting
from dplasso.kernels.residuals import Loops, Residual, compiled
from dplasso.losses.labels import declared, positions
from dplasso.losses.pace import Paces, usual_paces
from dplasso.losses.table_pace import TablePace


class Loss(ABC):
    """A sum over rows of a smooth convex function of the row's margin (or vector of margins)."""

    outputs: int  # margins per row; the weights are a matrix of that many rows
    curvature: tuple[float, float]  # interval that holds the slope of the row gradient
    curvature_turn: float = math.inf  # most by which that slope changes per unit of margin
    # Lipschitz constant, in the 2-norm, of a class's row gradient in the row's margins. Margins
    # that shrink by eta move by eta times their length, so a score moves by at most
    # ``lipschitz * ||x||_2 * eta * ||margins||_2``; the same holds for any other move.
    lipschitz: float
    clip: float = math.inf  # absolute value at which the residual is clipped
    # Whether labels are 0 and 1 and rows have one margin: rows of 0/1 data then fall into few
    # cohorts, whose scores are cheap.
    two_labels: ClassVar[bool] = False
    # How small the noise of a stream's first weights must be, relative to a margin of 1. A
    # predicted class is often still right if a margin is off by half; a predicted number is not.
    steadiness: ClassVar[float] = 1.0
    # Bound of a stream on a row's residual, where "auto" is given, relative to a margin of 1.
    usual_clip: ClassVar[float] = 1.0
    of_numbers: ClassVar[bool] = False
    # Public number that `encode` takes off labels; solvers predict labels without it.
    middle: float = 0.0

    @abstractmethod
    def encode(self, y: ArrayLike) -> Floats:
        """Labels as numbers; a ValueError names the remedy, never the values."""

    @abstractmethod
    def gradient_bound(self, radius: float, x_bound: float) -> float:
        """Bound on the absolute value of any row gradient while the weights are in the ball."""

    @abstractmethod
    def values(self, margins: Floats, labels: Floats) -> Floats:
        """Loss of every row; ``margins`` is rows x outputs."""

    def value(self, margins: Floats, labels: Floats, weights: Floats | None = None) -> float:
        """Sum the loss over the rows, each times its weight if rows have weights.

        Parameters
        ----------
        margins : array
            Rows x outputs.
        labels : array
            Encoded labels, one per row.
        weights : array or None, default=None
            One weight per row.

        Returns
        -------
        float
        """
        found = self.values(margins, labels)
        return float(np.sum(found if weights is None else weights * found))

    @abstractmethod
    def gradient(self, margins: Floats, labels: Floats) -> Floats:
        """Compute row gradients, rows x outputs, in numpy; compiled ones are tested against it.

        Parameters
        ----------
        margins : array
            Rows x outputs.
        labels : array
            Encoded labels, one per row.

        Returns
        -------
        ndarray of float
        """

    @abstractmethod
    def compiled(self, bound: float = math.inf) -> Residual:
        """The residual as kernels call it, never larger than ``bound``."""

    def paces(self) -> Paces:
        """Step sizes and lengths of a private gradient descent; by default `usual_paces`."""
        return usual_paces(self.curvature[1])

    def table_pace(self) -> TablePace:
        """Clip and limits of the table solver; by default those measured for logistic loss."""
        first = self.first_residual()
        return TablePace(
            cut=0.8 * first,
            margin_noise=2.0 * first,
            curvature=self.curvature[1],
            reweighted=True,
        )

    def first_residual(self) -> float:
        """Largest 2-norm of a row's residuals at weights of 0."""
        return self.gradient_bound(0.0, 1.0)

    def check_precision(self) -> None:  # noqa: B027  # most losses have nothing to check
        """Raise a ValueError if double precision cannot resolve the loss's own parameters."""


class OneMarginLoss(Loss):
    """A loss with one margin per row."""

    outputs: int = 1
    loops: ClassVar[Loops]  # the residual and the curvature, over rows, which numba compiles
    shape: float = 0.0  # the parameter that both loops get; each loss defines its meaning

    def compiled(self, bound: float = math.inf) -> Residual:
        return compiled(self.loops, self.shape_within(bound))

    def shape_within(self, bound: float) -> float:
        """The shape that limits residuals to ``bound``, if the loss does not do so anyway."""
        return self.shape

    @abstractmethod
    def label_shares(self, labels: Floats) -> Floats:
        """Encoded labels divided by their bound, between -1 and 1."""


class TwoClassLoss(OneMarginLoss):
    """A loss of two classes: the label is 1 for the second declared class, 0 for the first."""

    two_labels = True

    def __init__(self, classes: Sequence[Any] = (0, 1)) -> None:
        self.classes = declared(classes, 2)
        if len(self.classes) != 2:
            raise ValueError(
                f"classes must list two labels for {type(self).__name__}, got "
                f"{len(self.classes)}; use SoftmaxLoss for more"
            )

    def encode(self, y: ArrayLike) -> Floats:
        return positions(y, self.classes)

    def label_shares(self, labels: Floats) -> Floats:
        return 2.0 * labels - 1.0


class Probabilities(ABC):
    """A loss whose margins give class probabilities."""

    @staticmethod
    @abstractmethod
    def probabilities(margins: Floats) -> Floats:
        """Compute probabilities, rows x classes, from margins, rows x outputs.

        Parameters
        ----------
        margins : array
            Rows x outputs.

        Returns
        -------
        ndarray of float
        """

    @staticmethod
    @abstractmethod
    def log_probabilities(margins: Floats) -> Floats:
        """Their logarithms, finite where probabilities underflow."""


def number_on_card(loss: Loss) -> int | None:
    """The number of a loss's residual on a card; None for several margins, which have one way.

    A ValueError names the remedy if the loss has no loops for a card.
    """
    if not isinstance(loss, OneMarginLoss):
        return None
    if loss.loops.on_card is None:
        raise ParameterError(
            "{cuda} does not take {kind}, whose loops are not written for a card; pass {cpu}",
            cuda=Setting("device", "cuda"),
            kind=type(loss).__name__,
            cpu=Setting("device", "cpu"),
        )
    return loss.loops.on_card


def residual_on_card(loss: Loss) -> tuple[int, float] | None:
    """The number and the shape of a loss's residual on a card; None for several margins."""
    number = number_on_card(loss)
    if number is None or not isinstance(loss, OneMarginLoss):
        return None
    return number, loss.shape_within(math.inf)


def check_taken(loss: Any, taken: tuple[type[Loss], ...], solver: str) -> None:
    """Raise a ValueError that names the loss and the remedy if a solver does not take it."""
    if not isinstance(loss, Loss):
        raise ValueError(f"loss must be a Loss such as LogisticLoss(), got {type(loss).__name__}")
    if not isinstance(loss, taken):
        margins = "one margin per row" if loss.outputs > 1 else "compiled loops"
        raise ValueError(
            f"{solver} does not take {type(loss).__name__}; pass a loss with {margins}, such as "
            "LogisticLoss()"
        )
