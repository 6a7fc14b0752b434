"""How far a private gradient descent goes: numbers that a loss declares."""

import math
from typing import NamedTuple


class Thresholds(NamedTuple):
    """What released masses of columns are judged by."""

    least: float  # mass of columns that are damped
    centred: float  # mass of columns that are centred, in standard deviations of its noise
    damped: float = 3.0  # mass of columns that are damped, in the same
    shared: float = math.inf  # of rows' square length, in their mean: all columns are centred


class Pace(NamedTuple):
    """How far a descent goes.

    Its length is set by the noise it may leave in the margin of a unit row: the standard deviation
    of that noise. Steps, in multiples of 1 / n, are short enough that the loss decreases, and at
    least ``fewest_steps``; where they would be more than ``most_steps``, they are longer, by a
    factor of ``lengthened`` at most. All are in units of a residual while weights are 0.
    """

    cut: float  # where residuals are cut
    margin_noise: float
    longest_step: float
    intercept_step: float
    fewest_steps: int
    thresholds: Thresholds
    mass_share: float = 0.05  # of mu^2; the rest is for the steps
    # Largest standard deviation of the noise in an intercept: with few rows, it would otherwise be
    # all noise, and residuals would be at their cut whatever the weights.
    intercept_noise: float = 0.4
    # All rows over the noise of all columns. Below, margins are soon noise, and steps from there
    # show less than those from weights of 0: weights are held back until the last third.
    clear_from: float = 0.0
    most_steps: int = 1000
    lengthened: float = 1.0


class Paces(NamedTuple):
    """The pace for many columns, and for few, whose noise is small in all."""

    wide: Pace
    narrow: Pace


def usual_paces(curvature: float) -> Paces:
    """The paces of a loss that declares none.

    They are those of squared loss, whose residuals do not level off, with steps in inverse
    proportion to the largest curvature: the loss decreases where squared loss would. They are
    cautious; a loss that is measured declares its own.

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
