"""A quantile of numbers, one a row, among public candidates."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dplasso.mechanisms.exact_noise import bernoulli_exp, uniform_below
from dplasso.privacy import checks
from dplasso.privacy.calibration import Neighboring


def private_quantile(
    numbers: NDArray[np.float64],
    candidates: Sequence[float],
    share: Fraction,
    epsilon: float,
    neighboring: Neighboring,
    generator: np.random.Generator,
) -> int:
    """The place of a candidate that about ``share`` of the ``numbers`` are at most.

    A candidate's loss is how far it is from that: |(1 - share) * (how many numbers are at most as
    large) - share * (how many are larger)|, which is 0 at the quantile. The exponential mechanism
    picks a candidate with probability proportional to exp(-theta * loss).

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
    theta = Fraction(checks.bound("epsilon", epsilon)) / range_of_losses(share, neighboring)
    losses = losses_of(numbers, candidates, share)
    least = min(losses)
    while True:
        place = uniform_below(len(losses), generator)
        if bernoulli_exp(theta * (losses[place] - least), generator):
            return place


def losses_of(
    numbers: NDArray[np.float64], candidates: Sequence[float], share: Fraction
) -> list[Fraction]:
    """How far each candidate is from the quantile, in rows."""
    ordered = np.sort(numbers)
    below = np.searchsorted(ordered, np.asarray(candidates, np.float64), side="right").tolist()
    return [abs((1 - share) * low - share * (len(ordered) - low)) for low in below]


def range_of_losses(share: Fraction, neighboring: Neighboring) -> Fraction:
    """How far apart the changes of two losses can be that one row makes.

    A row more or less moves what stands inside the bars by 1 - share for candidates it is at most,
    and by share for the others: each loss by at most the larger of the two, up or down. A row
    replaced moves it by 1 for candidates between its two numbers, by 0 for the others.
    """
    if not 0 < share < 1:
        raise ValueError(f"share must lie strictly between 0 and 1, got {share}")
    return Fraction(2) if neighboring == "replace_one" else 2 * max(share, 1 - share)
