"""Labels as numbers; errors name the remedy, never the values."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplasso.base.arrays import Floats
from dplasso.base.wording import ParameterError


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
    """Place of every label among the declared classes."""
    array = one_dimensional(y)
    small = np.min_scalar_type(len(classes)).type  # few bytes per row until the very end
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
