"""A private quantile of one number per row, among public candidates."""

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

    Candidates must be increasing. Each stands for the numbers from it up to the next one, the first
    also for all smaller numbers. Its loss is the number of rows that would have to change for the
    quantile, below which ``share`` of the numbers lie, to be among those. The exponential mechanism
    picks a candidate with probability proportional to exp(-theta * loss).

    Formal guarantees
    -----------------
    - Neighbouring: ``neighboring``; every row has one number, or none.
    - Cost: epsilon-bounded-range (`dplasso.privacy.events.BoundedRange`), theta being epsilon over
      `range_of_losses`: one row moves all losses within a range of at most that width.
    - Assumptions: candidates, share and epsilon are public; a row's number depends on that row
      alone; the generator's bits are fair and secret.
    - Rounding: none. Losses are fractions, and so is theta, since the float ``epsilon`` is one. A
      candidate drawn uniformly is kept with probability exp(-theta * (its loss minus the least)),
      decided by integer arithmetic: that is the law above, exactly. The time a draw takes depends
      on the losses, and is not protected.
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
    """Theta times the loss of each candidate: it is drawn in proportion to exp(-this)."""
    theta = Fraction(checks.bound("epsilon", epsilon)) / range_of_losses(share, neighboring)
    return [theta * loss for loss in losses_of(numbers, candidates, share)]


def losses_of(
    numbers: NDArray[np.float64], candidates: Sequence[float], share: Fraction
) -> list[Fraction]:
    """Distance of each candidate's numbers from the quantile, in rows.

    The loss is max(0, g(this), -g(next)), where g(c) is the number of numbers below c minus
    ``share`` of all of them: the quantile is where g crosses 0. No number counts as below the first
    candidate, and all count as below the end of the last one.
    """
    count = len(numbers)
    edges = np.asarray(candidates, np.float64)[1:]
    below = [0, *np.searchsorted(np.sort(numbers), edges, side="left").tolist(), count]
    excess = [low - share * count for low in below]
    return [max(Fraction(0), g, -after) for g, after in itertools.pairwise(excess)]


def range_of_losses(share: Fraction, neighboring: Neighboring) -> Fraction:
    """Largest difference between the changes that one row makes to two losses.

    Adding or removing a row moves g (see `losses_of`) by 1 - share where its number is below, and
    by -share elsewhere: each loss moves by at most the larger of the two, up or down. Replacing a
    row moves g by 1, all in one direction, between its two numbers, and not at all elsewhere.
    """
    if not 0 < share < 1:
        raise ValueError(f"share must lie strictly between 0 and 1, got {share}")
    return Fraction(2) if neighboring == "replace_one" else 2 * max(share, 1 - share)
