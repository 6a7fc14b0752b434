"""Labels as numbers; errors name the remedy, never the values."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplasso.base import checks
from dplasso.base.arrays import Floats
from dplasso.base.wording import ParameterError


class LabelRange(NamedTuple):
    """The public range to which labels that are numbers are clipped."""

    low: float
    high: float

    @classmethod
    def of(cls, y_bound: object) -> "LabelRange":
        """Read ``y_bound``: a bound on absolute values, or the low and the high end.

        >>> LabelRange.of(2.0), LabelRange.of((0, 500)).middle
        (LabelRange(low=-2.0, high=2.0), 250.0)
        """
        if not isinstance(y_bound, Sequence | np.ndarray) or isinstance(y_bound, str):
            bound = checks.bound("y_bound", y_bound)
            return cls(-bound, bound)
        found = _ends(y_bound)
        if found is None or not 0.0 < found.reach < math.inf:
            raise ParameterError(
                "{y_bound} must be a number above 0, or a pair of two finite numbers, the lower "
                "one first; declare a bound known without the data"
            )
        return found

    @property
    def middle(self) -> float:
        """The middle, which is taken off labels before a fit."""
        return self.low / 2.0 + self.high / 2.0

    @property
    def reach(self) -> float:
        """Largest distance from the middle."""
        width = self.high - self.low
        return width / 2.0 if width < math.inf else self.high / 2.0 - self.low / 2.0


def _ends(pair: Any) -> LabelRange | None:
    try:
        low, high = map(float, pair)
    except (TypeError, ValueError):
        return None
    return LabelRange(low, high)


def one_dimensional(y: ArrayLike) -> NDArray[Any]:
    """``y`` as a vector without gaps."""
    try:
        array = np.asarray(y)
    except Exception:  # objects that look like arrays may raise anything
        array = np.empty((0, 0))  # numpy's own message would reveal the number of rows
    if array.ndim != 1:
        raise ValueError(
            f"y must be one-dimensional, got {array.ndim} dimensions; pass one label per row"
        )
    if array.dtype.kind in "fc" and not np.all(np.isfinite(array)):
        raise ValueError("y holds NaN or infinity; remove or impute those rows first")
    return array


def positions(y: ArrayLike, classes: Sequence[Any]) -> Floats:
    """Position of every label among the declared classes.

    Labels are compared by value, whatever precision ``y`` has: 0.1 in single precision is not the
    class 0.1, and is rejected.
    """
    array = one_dimensional(y)
    if array.dtype.kind == "O":  # numpy compares short floats in their own precision
        array = np.fromiter(map(_widened, array), object, len(array))
    small = np.min_scalar_type(len(classes)).type  # few bytes per row until the very end
    places, known = np.zeros(array.shape, small), np.zeros(array.shape, np.bool_)
    for place, label in enumerate(classes):
        mine = _equal(array, label) & ~known
        known |= mine
        places[mine] = place
    if not known.all():
        raise ParameterError(
            "y holds labels outside the declared classes; declare all of them with {classes}, as "
            "exact values of the same kind (0.1 in single precision is not 0.1)"
        )
    return places.astype(np.float64)


def _widened(label: Any) -> Any:
    return label.item() if isinstance(label, np.float16 | np.float32) else label


def _equal(array: NDArray[Any], label: Any) -> NDArray[np.bool_]:
    """Mask of the labels that have exactly the value of a class."""
    label = label.item() if isinstance(label, np.number | np.bool_) else label
    if array.dtype.kind in "biuf" and isinstance(label, int | float):
        try:
            with np.errstate(all="ignore"):
                same = array.dtype.type(label)
        except (OverflowError, ValueError):  # no such number in this type
            same = None
        if same is None or same.item() != label:
            return np.zeros(array.shape, np.bool_)
        label = same
    return np.broadcast_to(np.asarray(array == label, np.bool_), array.shape)


def declared(classes: Sequence[Any], fewest: int) -> tuple[Any, ...]:
    """Classes as a tuple of distinct labels, at least ``fewest`` of them."""
    distinct = tuple(classes)
    if len(distinct) < fewest or len(set(distinct)) != len(distinct):
        raise ValueError(
            f"classes must list at least {fewest} distinct labels, got {len(distinct)}; "
            "declare every label that may occur"
        )
    return distinct
