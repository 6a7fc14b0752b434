"""How many coefficients a model keeps, and keeping the largest of them."""

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dplasso.base import checks
from dplasso.data import ColumnMatrix
from dplasso.losses import Loss
from dplasso.mechanisms.counting import noisy_count
from dplasso.solvers.lasso import lasso


@dataclass(frozen=True)
class Sparsifier:
    """A private count of the coefficients that the LASSO without privacy would not set to zero.

    The rule of Khanna, Lu and Raff, "Sparse Private LASSO Logistic Regression" (2023): clip the
    count to public bounds, add noise, and keep that many of the private model's coefficients.

    Nearly always a public number, ``sparsify=k``, is the better choice. At the paper's share of
    the budget the noise is many times wider than the bounds: the released count is ``low`` or
    ``high``, with probability near 1/2 each, whatever the truth. It is a coin that has been paid
    for.

    Parameters
    ----------
    budget_share : share of the fit's rho that is spent on the count.
    low, high : public bounds of the count, for which sqrt(size) and 2 sqrt(size), rounded down,
        stand in. ``size`` is the number of coefficients: features times outputs.
    precision : the released count is multiplied by it; below 1 fewer coefficients are kept.

    Formal guarantees
    -----------------
    - Neighbouring: any relation, see `noisy_count`: the sensitivity of the count is bounded by the
      clip alone. How well the LASSO was solved does not enter.
    - Cost: `keep` is epsilon-DP for the epsilon it is given, to be added to that of the fit.
      ``precision``, rounding and `keep_largest` are post-processing.
    - Assumptions: the parameters, ``size``, the radius and the loss are public, and the bits of the
      generator are fair and secret. The time `keep` takes depends on the data.

    >>> Sparsifier().bounds(10_000)
    (100, 200)
    """

    budget_share: float = 0.05
    low: int | None = None
    high: int | None = None
    precision: float = 1.0

    def __post_init__(self) -> None:
        checks.probability("budget_share", self.budget_share)
        checks.bound("precision", self.precision)
        if self.low is not None:
            checks.count("low", self.low, least=0)
        if self.high is not None:
            checks.count("high", self.high, least=1)

    def bounds(self, size: int) -> tuple[int, int]:
        """Least and most that the count of ``size`` coefficients is clipped to."""
        size = checks.count("size", size, least=1)
        # The square root of 1 would leave no room below the only coefficient.
        low = (math.isqrt(size) if size > 1 else 0) if self.low is None else int(self.low)
        high = min(math.isqrt(4 * size), size) if self.high is None else int(self.high)
        if not low < high <= size:
            raise ValueError(
                f"low and high must be such that low < high <= {size}, the number of coefficients, "
                f"got {low} and {high}; give both to Sparsifier"
            )
        return low, high

    def keep(
        self,
        matrix: ColumnMatrix,
        labels: NDArray[np.float64],
        loss: Loss,
        radius: float,
        *,
        size: int,
        epsilon: float,
        generator: np.random.Generator,
    ) -> int:
        """How many of ``size`` coefficients to keep, epsilon-DP; see the class.

        Columns beyond the first ``size // loss.outputs``, an intercept's, are fitted but not
        counted. ``labels`` are numbers, as ``loss.encode`` returns them. ``epsilon=math.inf``
        leaves out the noise, and with it all privacy.
        """
        low, high = self.bounds(size)
        features = size // loss.outputs
        if features * loss.outputs != size or features > matrix.shape[1]:
            raise ValueError(
                "size must be the outputs of the loss times no more than the columns of the "
                f"matrix, got {size}; it is the number of coefficients"
            )
        weights = lasso(matrix, labels, loss, radius, gap=1e-4).weights[:features]
        count = noisy_count(int(np.count_nonzero(weights)), low, high, epsilon, generator)
        return round(min(count * self.precision, float(size)))


def keep_largest(weights: sp.csr_array, k: int) -> sp.csr_array:
    """The ``k`` entries of largest size, the others dropped; of equals, the first by class, column.

    >>> keep_largest(sp.csr_array([[0.5, -2.0], [0.5, 0.0]]), 2).toarray()
    array([[ 0.5, -2. ],
           [ 0. ,  0. ]])
    """
    k = checks.count("k", k, least=0)
    kept = sp.csr_array(weights, copy=True)
    kept.sum_duplicates()  # puts columns in order, too
    falling = np.argsort(-np.abs(kept.data), kind="stable")
    kept.data[falling[k:]] = 0.0
    kept.eliminate_zeros()
    return kept
