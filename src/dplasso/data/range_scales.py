"""The middle and the size by which a column with a public range is centred and scaled."""

import numpy as np
from numpy.typing import NDArray

from dplasso.base.arrays import Floats


def range_scales(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Middle and size of ranges: an entry x becomes (x - middle) / size.

    The size is half the width, so that entries go from -1 to 1; it is 0 where both ends meet. The
    range from 0 to 1 is that of indicators, which stay as they are: most of them are mostly 0, and
    a column that is nearly always -1 would take the room of others in rows of length 1.

    >>> [part.tolist() for part in range_scales(np.array([40.0, 0.0]), np.array([60.0, 1.0]))]
    [[50.0, 0.0], [10.0, 1.0]]
    """
    indicator = is_indicator(low, high)
    middle = np.where(indicator, 0.0, 0.5 * low + 0.5 * high)
    return middle, np.where(indicator, 1.0, 0.5 * high - 0.5 * low)


def is_indicator(low: Floats, high: Floats) -> NDArray[np.bool_]:
    """Whether ranges are those of indicators, from 0 to 1."""
    found: NDArray[np.bool_] = (low == 0.0) & (high == 1.0)
    return found
