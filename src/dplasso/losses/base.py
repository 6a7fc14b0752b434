"""What a solver may ask of a loss."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplasso.base.arrays import Floats
from dplasso.base.wording import ParameterError


class Loss(ABC):
    """A sum over rows of a smooth function of the row's margin (or vector of margins).

    Attributes
    ----------
    code : how the compiled loops know it.
    outputs : margins per row; the weights are a matrix of that many rows.
    curvature : interval that holds the slope of the row gradient in its margin.
    lipschitz : how fast a class's row gradient can move with the row's margins, in the 2-norm.
        A shrink of the margins by eta moves them by eta times their length, so it moves a score by
        at most ``lipschitz * ||x||_2 * eta * ||margins||_2``; the same holds for any other move.
    clip : size at which the residual is cut (infinite where there is none).
    """

    code: ClassVar[int]
    curvature: tuple[float, float]
    lipschitz: float
    clip: float = float("inf")
    outputs: int = 1

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
        """Row gradients, rows x outputs: the plain reference of the compiled one."""


def one_dimensional(y: ArrayLike) -> NDArray[Any]:
    """``y`` as a vector without gaps."""
    try:
        array = np.asarray(y)
    except Exception:  # of whatever kind: things that look like arrays raise what they like
        array = np.empty((0, 0))  # numpy's message has the number of rows
    if array.ndim != 1:
        raise ValueError(
            f"y must be one-dimensional, got {array.ndim} dimensions; pass one label per row"
        )
    if array.dtype.kind in "fc" and not np.all(np.isfinite(array)):
        raise ValueError("y holds NaN or infinity; remove or impute those rows first")
    return array


def positions(y: ArrayLike, classes: Sequence[Any]) -> Floats:
    """Place of every label among the declared classes."""
    array = one_dimensional(y)
    small = np.min_scalar_type(len(classes)).type  # few bytes a row until the very end
    places = np.zeros(array.shape, small)
    known = 0
    for place, label in enumerate(classes):
        mine = array == label
        known += int(np.count_nonzero(mine))
        places += small(place) * mine
    if known != len(array):
        raise ParameterError(
            "y holds labels outside the declared classes; declare all of them with {classes}"
        )
    return places.astype(np.float64)


def declared(classes: Sequence[Any], fewest: int) -> tuple[Any, ...]:
    """Classes as a tuple of distinct labels, at least ``fewest`` of them."""
    distinct = tuple(classes)
    if len(distinct) < fewest or len(set(distinct)) != len(distinct):
        raise ValueError(
            f"classes must list at least {fewest} distinct labels, got {len(distinct)}; "
            "declare every label that may occur"
        )
    return distinct
