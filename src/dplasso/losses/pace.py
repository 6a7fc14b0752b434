"""Step sizes and lengths of a private gradient descent, declared by the loss."""

import math
from typing import NamedTuple


class Thresholds(NamedTuple):
    """Thresholds on the released masses of columns."""

    least: float  # smallest mass of a column that is damped
    centred: float  # smallest mass of a centred column, in standard deviations of its noise
    damped: float = 3.0  # smallest mass of a damped column, in the same unit
    shared: float = math.inf  # squared length of the mean row above which all columns are centred


class Pace(NamedTuple):
    """Step sizes and length of a descent.

    The length is set by ``margin_noise``, the noise standard deviation that the descent may leave
    in the margin of a unit row. Steps, in multiples of 1 / n, are short enough that the loss
    decreases, and there are at least ``fewest_steps``. If there would be more than ``most_steps``,
    steps are longer by a factor of at most ``lengthened``. All lengths are in units of a residual
    at weights of 0.
    """

    cut: float  # value at which residuals are clipped
    margin_noise: float
    longest_step: float
    intercept_step: float
    fewest_steps: int
    thresholds: Thresholds
    mass_share: float = 0.05  # share of mu^2 for the masses; the rest is for the steps
    # Largest noise standard deviation of an intercept: with few rows it would otherwise be all
    # noise, and residuals would be at their clip whatever the weights.
    intercept_noise: float = 0.4
    # Number of rows over the noise of all columns. Below this value margins soon are mostly noise,
    # and gradients there show less than those at weights of 0: weights are held back until the last
    # third of the steps.
    clear_from: float = 0.0
    most_steps: int = 1000
    lengthened: float = 1.0


class Paces(NamedTuple):
    """The pace for many columns, and for few columns, whose total noise is small."""

    wide: Pace
    narrow: Pace


def usual_paces(curvature: float) -> Paces:
    """The paces of a loss that declares none.

    They are those of squared loss, whose residuals do not level off, with steps inversely
    proportional to the largest curvature: the loss decreases where squared loss would. They are
    cautious; a loss with measured paces declares its own.

    >>> usual_paces(0.25).wide.longest_step
    100.0
    """
    wide = Pace(
        cut=1.0,
        margin_noise=0.12,
        longest_step=25.0 / curvature,
        intercept_step=2.5 / curvature,
        fewest_steps=5,
        thresholds=Thresholds(least=0.005, centred=5.0),
    )
    return Paces(wide, wide._replace(margin_noise=0.3, fewest_steps=40))
