"""What a solver may ask of a loss.

To add a loss with one margin per row: write one file with its two loops and its class, and add one
line to `registry.py`. The loops, compiled, are all that kernels use of it (`kernels/residuals.py`).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from dplasso.base.arrays import Floats
from dplasso.kernels.residuals import Loops, Residual, compiled
from dplasso.losses.labels import declared, positions
from dplasso.losses.pace import Paces, usual_paces


class Loss(ABC):
    """A sum over rows of a smooth convex function of the row's margin (or vector of margins).

    Attributes
    ----------
    outputs : int
        Margins per row; the weights are a matrix of that many rows.
    curvature : tuple of float
        Interval that holds the slope of the row gradient in its margin.
    lipschitz : float
        How fast a class's row gradient can move with the row's margins, in the 2-norm. Margins
        that shrink by eta move by eta times their length, so a score moves by at most
        ``lipschitz * ||x||_2 * eta * ||margins||_2``; the same holds for any other move.
    clip : float
        Size at which the residual is cut; infinite where it is not.
    two_labels : bool
        Whether labels are 0 and 1 and rows have one margin: rows of 0/1 data then fall into few
        cohorts, whose scores are cheap.
    steadiness : float
        How small the noise of a stream's first weights must be, relative to a margin of 1. A class
        is still right where a margin is off by half; a number is not.
    """

    outputs: int
    curvature: tuple[float, float]
    lipschitz: float
    clip: float = math.inf
    two_labels: ClassVar[bool] = False
    steadiness: ClassVar[float] = 1.0

    @abstractmethod
    def encode(self, y: ArrayLike) -> Floats:
        """Labels as numbers; a ValueError names the remedy, never the values."""

    @abstractmethod
    def gradient_bound(self, radius: float, x_bound: float) -> float:
        """Bound on the size of any row gradient while the weights stay in the ball."""

    @abstractmethod
    def value(self, margins: Floats, labels: Floats) -> float:
        """Loss summed over the rows; ``margins`` is rows x outputs."""

    @abstractmethod
    def gradient(self, margins: Floats, labels: Floats) -> Floats:
        """Row gradients, rows x outputs: the plain reference of the compiled ones."""

    @abstractmethod
    def compiled(self, bound: float = math.inf) -> Residual:
        """The residual as kernels call it, never larger than ``bound``."""

    def paces(self) -> Paces:
        """How far a private gradient descent goes; by default the rule `usual_paces`."""
        return usual_paces(self.curvature[1])

    def first_residual(self) -> float:
        """Largest length of a row's residuals while the weights are 0."""
        return self.gradient_bound(0.0, 1.0)

    def check_precision(self) -> None:  # noqa: B027  # most losses have nothing to check
        """Raise a ValueError where double precision cannot resolve the loss's own numbers."""


class OneMarginLoss(Loss):
    """A loss with one margin per row.

    Attributes
    ----------
    loops : Loops
        The residual and the curvature, as loops over rows that numba compiles.
    shape : float
        The number that both loops get; what it means is the loss's own.
    """

    outputs: int = 1
    loops: ClassVar[Loops]
    shape: float = 0.0

    def compiled(self, bound: float = math.inf) -> Residual:
        return compiled(self.loops, self.shape_within(bound))

    def shape_within(self, bound: float) -> float:
        """The shape for residuals of at most ``bound``, where the loss does not ensure it."""
        return self.shape

    @abstractmethod
    def label_shares(self, labels: Floats) -> Floats:
        """Encoded labels as shares of their bound, between -1 and 1."""


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
    """A loss of classes whose margins say how likely each class is."""

    @staticmethod
    @abstractmethod
    def probabilities(margins: Floats) -> Floats:
        """Probabilities of the classes, rows x classes, from margins, rows x outputs."""

    @staticmethod
    @abstractmethod
    def log_probabilities(margins: Floats) -> Floats:
        """Their logarithms, finite where probabilities underflow."""


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
