"""A count between public bounds, released with noise."""

import contextlib
import math
from fractions import Fraction
from numbers import Integral, Real

import numpy as np

from dplasso.mechanisms.exact_noise import double_geometric


def noisy_count(
    count: int, low: int, high: int, epsilon: float, generator: np.random.Generator
) -> int:
    """Clip ``count`` to ``low .. high``, add double-geometric noise and clip again.

    ``epsilon=math.inf`` returns the clipped count, without privacy.

    Formal guarantees
    -----------------
    - Neighbouring: any relation. Clipped counts are whole numbers from ``low`` to ``high``, so no
      two of them differ by more than ``high - low``, however the data changed.
    - Cost: epsilon-DP (`dplasso.privacy.events.PureDP`). The noise k has probability proportional
      to exp(-gamma |k|), gamma = epsilon / (high - low): a shift of the count by d changes the
      log-probability of any outcome by at most gamma d <= epsilon. The second clip is
      post-processing.
    - Assumptions: ``low``, ``high`` and ``epsilon`` are public and the bits of ``generator`` are
      fair and secret. Bounds must be whole: a count clipped to fractions and then rounded could
      move by more than their difference.
    - Rounding: none. gamma is the fraction that the float ``epsilon`` stands for, over a whole
      number, and the noise is drawn exactly.
    """
    low, high, epsilon = _checked(low, high, epsilon)
    if not isinstance(count, Integral):
        raise ValueError("count must be a whole number; convert it with int(count)")
    clipped = min(max(int(count), low), high)
    if epsilon == math.inf:
        return clipped
    noised = clipped + double_geometric(Fraction(epsilon) / (high - low), generator)
    return min(max(noised, low), high)


def _checked(low: int, high: int, epsilon: float) -> tuple[int, int, float]:
    for name, bound in (("low", low), ("high", high)):
        if not isinstance(bound, Integral) or isinstance(bound, bool) or bound < 0:
            raise ValueError(
                f"{name} must be a whole number of at least 0, got {bound!r} "
                f"({type(bound).__name__}); round it first"
            )
    if not low < high:
        raise ValueError(f"low must be below high, got {low} and {high}; widen the bounds")
    if isinstance(epsilon, Real) and not isinstance(epsilon, bool):
        with contextlib.suppress(OverflowError):
            if float(epsilon) > 0.0:
                return int(low), int(high), float(epsilon)
    raise ValueError(
        f"epsilon must be a number above 0, got {epsilon!r}; pass math.inf for no privacy"
    )
