"""Draw columns one after the other, then run a private descent on those alone."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from dplasso.base import threads as pool
from dplasso.base.arrays import Ints
from dplasso.data.columns import ColumnMatrix
from dplasso.data.unit_rows import Scaling, UnitRows
from dplasso.losses import Loss
from dplasso.losses.encoded import EncodedLabels
from dplasso.mechanisms.exponential import draw_by_score
from dplasso.mechanisms.grid_gaussian import GridGaussian, NoiseOf
from dplasso.mechanisms.random_bits import RandomBits, random_bits
from dplasso.solvers.few.plan import GRAINS, LABEL, FewPlan
from dplasso.solvers.few.scores import ColumnScores
from dplasso.solvers.gradient import gradient_descent


@dataclass(frozen=True)
class Chosen:
    """The releases of a column choice, in the order of the draws."""

    centre: int  # the released mean label; LABEL is the bound
    columns: Ints  # all different
    signs: Ints  # 1 if larger entries go with larger labels according to the draw, otherwise -1


@dataclass(frozen=True)
class FewSolution:
    """Weights (1 x all columns) and intercept, for rows of length 1 in the chosen columns."""

    weights: sp.csr_array
    intercepts: NDArray[np.float64]


def choose(
    scores: ColumnScores,
    plan: FewPlan,
    bits: RandomBits,
    n_threads: int | None = None,
    noise_of: NoiseOf = GridGaussian,
) -> Chosen:
    """Release the mean of the labels, then draw columns by their correlation with the residuals.

    Formal guarantees
    -----------------
    The mean is post-processing of an exact sum with `GridGaussian` noise. Given the mean, each draw
    is `draw_by_score` over the signed scores of all columns not drawn before, which one row moves
    within the range that theta is calibrated for. Both cost what ``plan`` states, under its
    neighbouring relation; draws adapt to the mean and to the draws before them.
    """
    threads = n_threads or pool.available()
    released = scores.label_sum()
    with random_bits(bits).exclusive() as stream:
        noise_of(plan.centre_sigma).add_to(released, stream, threads)
        centre = _centre(int(released[0]), plan)
        columns, signs = _drawn(
            scores.of_centre(centre, threads),
            plan.theta(scores.longest(centre)),
            plan.n_chosen,
            stream,
        )
    return Chosen(centre, columns, signs)


def refit(
    matrix: ColumnMatrix,
    y: ArrayLike | EncodedLabels,
    chosen: Chosen,
    *,
    loss: Loss,
    plan: FewPlan,
    scaling: Scaling,
    bits: RandomBits,
    n_threads: int | None = None,
    progress: Callable[[int], None] | None = None,
    noise_of: NoiseOf = GridGaussian,
) -> FewSolution:
    """Run a private descent on the chosen columns, as if there were no others.

    Formal guarantees
    -----------------
    Those of `gradient_descent`, for ``plan.refit``. The chosen columns are treated like a public
    list: the cost adds to that of the choice, to which the descent adapts.
    """
    order = np.argsort(chosen.columns)
    columns = chosen.columns[order]
    solution = gradient_descent(
        UnitRows.of(matrix.picked(columns), scaling),
        y,
        loss=loss,
        plan=plan.refit,
        generator=bits,
        n_threads=n_threads,
        progress=progress,
        noise_of=noise_of,
    )
    starts = np.array([0, len(columns)])
    weights = np.asarray(solution.weights, np.float64).ravel()
    shape = (1, matrix.shape[1])
    return FewSolution(sp.csr_array((weights, columns, starts), shape=shape), solution.intercepts)


def _centre(released: int, plan: FewPlan) -> int:
    """The mean label from a release that was rounded down, clipped to the range of labels."""
    mean = round(Fraction(2 * released + 1, 2 * GRAINS * plan.n_rows))
    return min(max(mean, -LABEL), LABEL)


def _drawn(
    scores: Ints, theta: Fraction, count: int, generator: np.random.Generator
) -> tuple[Ints, Ints]:
    """Draw ``count`` columns and signs, each in proportion to e^(theta * sign * score)."""
    left, found = np.arange(len(scores)), []
    for _ in range(count):
        signed = np.concatenate((scores[left], -scores[left]))
        negative, place = divmod(draw_by_score(signed, theta, generator), len(left))
        found.append((left[place], -1 if negative else 1))
        left = np.delete(left, place)
    columns, signs = np.array(found, np.int64).T
    return columns, signs
