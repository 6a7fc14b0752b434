"""A private quantile of one number per row, among public candidates."""

import itertools
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dplasso.base import checks
from dplasso.mechanisms.exact_noise import bernoulli_exp, uniform_below
from dplasso.privacy.calibration import Neighboring

WHOLE = 1 << 32  # parts of a row; those of two billion rows add up in 64 bits


def private_quantile(
    numbers: NDArray[np.float64],
    candidates: Sequence[float],
    share: Fraction,
    epsilon: float,
    neighboring: Neighboring,
    generator: np.random.Generator,
    weights: NDArray[np.float64] | None = None,
    rows_per_person: int = 1,
) -> int:
    """The place of the largest candidate that is at most a quantile of the ``numbers``.

    Candidates must be increasing. Each stands for the numbers from it up to the next one, the first
    also for all smaller numbers. Its loss is the number of rows that would have to change for the
    quantile, below which ``share`` of the numbers lie, to be among those. The exponential mechanism
    picks a candidate with probability proportional to exp(-theta * loss).

    Formal guarantees
    -----------------
    - Neighbouring: ``neighboring``; every row has one number, or none. With ``weights``, neighbours
      may differ in any rows whose weights add up to at most ``rows_per_person``: a person.
    - Cost: epsilon-bounded-range (`dplasso.privacy.events.BoundedRange`), theta being epsilon over
      `range_of_losses`: one row moves all losses within a range of at most that width.
    - Assumptions: candidates, share and epsilon are public; a row's number depends on that row
      alone; the generator's bits are fair and secret.
    - Rounding: none. Losses are fractions, and so is theta, since the float ``epsilon`` is one. A
      candidate drawn uniformly is kept with probability exp(-theta * (its loss minus the least)),
      decided by integer arithmetic: that is the law above, exactly. The time a draw takes depends
      on the losses, and is not protected.
    """
    exponents = exponents_of(
        numbers, candidates, share, epsilon, neighboring, weights, rows_per_person
    )
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
    weights: NDArray[np.float64] | None = None,
    rows_per_person: int = 1,
) -> list[Fraction]:
    """Theta times the loss of each candidate: it is drawn in proportion to exp(-this)."""
    width = range_of_losses(share, neighboring) * checks.count(
        "rows_per_person", rows_per_person, least=1
    )
    theta = Fraction(checks.bound("epsilon", epsilon)) / width
    return [theta * loss for loss in losses_of(numbers, candidates, share, weights)]


def losses_of(
    numbers: NDArray[np.float64],
    candidates: Sequence[float],
    share: Fraction,
    weights: NDArray[np.float64] | None = None,
) -> list[Fraction]:
    """Distance of each candidate's numbers from the quantile, in rows.

    The loss is max(0, g(this), -g(next)), where g(c) is the number of numbers below c minus
    ``share`` of all of them: the quantile is where g crosses 0. No number counts as below the first
    candidate, and all count as below the end of the last one. A row with a weight counts as that
    much of a row, in whole parts of WHOLE, rounded down.
    """
    edges = np.asarray(candidates, np.float64)[1:]
    order = np.argsort(numbers, kind="stable")
    ends = [0, *np.searchsorted(numbers[order], edges, side="left").tolist(), len(numbers)]
    below = [Fraction(end) for end in ends]
    if weights is not None:
        parts = np.append(0, np.cumsum(whole_parts(weights[order])))
        below = [Fraction(int(parts[end]), WHOLE) for end in ends]
    excess = [low - share * below[-1] for low in below]
    return [max(Fraction(0), g, -after) for g, after in itertools.pairwise(excess)]


def whole_parts(weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Weights from 0 to 1 as whole parts of WHOLE, rounded down."""
    return (weights * WHOLE).astype(np.int64)


def range_of_losses(share: Fraction, neighboring: Neighboring) -> Fraction:
    """Largest difference between the changes that one row makes to two losses.

    Adding or removing a row moves g (see `losses_of`) by 1 - share where its number is below, and
    by -share elsewhere: each loss moves by at most the larger of the two, up or down. Replacing a
    row moves g by 1, all in one direction, between its two numbers, and not at all elsewhere. A
    person whose rows' weights add up to k moves g by at most k times as much: where the weights of
    the replaced person add up to less than those of the other, still by at most k.
    """
    if not 0 < share < 1:
        raise ValueError(f"share must lie strictly between 0 and 1, got {share}")
    return Fraction(2) if neighboring == "replace_one" else 2 * max(share, 1 - share)
