"""The number that entries are actually clipped to, the same in single and double precision."""

from typing import Any

import numpy as np

_SINGLE = np.finfo(np.float32)


def held_single(x_bound: float) -> bool:
    """Whether the bound lies in the normal range of single precision."""
    return float(_SINGLE.smallest_normal) <= x_bound <= float(_SINGLE.max)


def clip_limit(x_bound: float) -> float:
    """The largest single-precision number that is not above ``x_bound``.

    Outside the normal range of single precision it is ``x_bound`` itself, and entries are then
    stored in double precision.

    Formal guarantees
    -----------------
    It is a function of ``x_bound`` alone. Both precisions represent it exactly, so a clipped entry,
    and the constant of an intercept column, is the same number however a matrix is stored.

    >>> clip_limit(2.0), clip_limit(2.7) < 2.7, clip_limit(1e-40)
    (2.0, True, 1e-40)
    """
    if not held_single(x_bound):
        return float(x_bound)
    near = np.float32(x_bound)
    return float(near if float(near) <= x_bound else np.nextafter(near, np.float32(0)))


def clipped_in_place(values: Any, x_bound: float) -> Any:
    """The array ``values``, with entries clipped to the limit of ``x_bound``."""
    limit = clip_limit(x_bound)
    return np.clip(values, -limit, limit, out=values)
