"""A quantile of numbers, one a row, among public candidates."""

import itertools
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dplasso.base import checks
from dplasso.mechanisms.exact_noise import bernoulli_exp, uniform_below
from dplasso.privacy.calibration import Neighboring


def private_quantile(
    numbers: NDArray[np.float64],
    candidates: Sequence[float],
    share: Fraction,
    epsilon: float,
    neighboring: Neighboring,
    generator: np.random.Generator,
) -> int:
    """The place of the largest candidate that is at most a quantile of the ``numbers``.

    Candidates rise. Each stands for the numbers from it up to the next, the first also for all
    below. Its loss is how many rows would have to be others for the quantile, below which ``share``
    of the numbers lie, to be among those. The exponential mechanism picks a candidate with
    probability proportional to exp(-theta * loss).

    Formal guarantees
    -----------------
    - Neighbouring: ``neighboring``; every row has one of the ``numbers``, or none.
    - Cost: epsilon-bounded-range (`dplasso.privacy.events.BoundedRange`), theta being epsilon over
      `range_of_losses`: one row moves all losses within a range of at most that width.
    - Assumptions: candidates, share and epsilon are public; a row's number depends on that row
      alone; the generator's bits are fair and secret.
    - Rounding: none. Losses are fractions and theta is the fraction that the float ``epsilon``
      stands for, over one. A candidate drawn uniformly is kept with probability exp(-theta * (its
      loss less the least)), decided by whole numbers: that is the law above, exactly. The time a
      draw takes depends on losses, and is not protected.
    """
    exponents = exponents_of(numbers, candidates, share, epsilon, neighboring)
    least = min(exponents)
    while True:
        place = uniform_below(len(exponents), generator)
        if bernoulli_exp(exponents[place] - least, generator):
            return place


def exponents_of(
    numbers: NDArray[np.float64],
    candidates: Sequence[float],
    share: Fraction,
    epsilon: float,
    neighboring: Neighboring,
) -> list[Fraction]:
    """Theta times the loss of each candidate, which is drawn by exp(-this), but for a factor."""
    theta = Fraction(checks.bound("epsilon", epsilon)) / range_of_losses(share, neighboring)
    return [theta * loss for loss in losses_of(numbers, candidates, share)]


def losses_of(
    numbers: NDArray[np.float64], candidates: Sequence[float], share: Fraction
) -> list[Fraction]:
    """How far each candidate's numbers are from the quantile, in rows.

    The loss is max(0, g(this), -g(next)), g(c) being how many numbers are below c, less ``share``
    of all: where g crosses 0 the quantile is. Nothing is below the first, and all below what
    follows the last.
    """
    count = len(numbers)
    edges = np.asarray(candidates, np.float64)[1:]
    below = [0, *np.searchsorted(np.sort(numbers), edges, side="left").tolist(), count]
    excess = [low - share * count for low in below]
    return [max(Fraction(0), g, -after) for g, after in itertools.pairwise(excess)]


def range_of_losses(share: Fraction, neighboring: Neighboring) -> Fraction:
    """How far apart the changes of two losses can be that one row makes.

    A row more or less moves g (see `losses_of`) by 1 - share where its number is below, and by
    -share elsewhere: each loss by at most the larger of the two, up or down. A row replaced moves g
    by 1, all one way, between its two numbers, and not at all elsewhere.
    """
    if not 0 < share < 1:
        raise ValueError(f"share must lie strictly between 0 and 1, got {share}")
    return Fraction(2) if neighboring == "replace_one" else 2 * max(share, 1 - share)
