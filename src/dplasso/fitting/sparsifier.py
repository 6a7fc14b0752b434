"""Choose how many coefficients a model keeps, and keep the largest ones."""

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dplasso.base import checks
from dplasso.base.wording import ParameterError
from dplasso.data import ColumnMatrix
from dplasso.losses import Loss
from dplasso.mechanisms.counting import noisy_count
from dplasso.solvers.lasso import lasso


@dataclass(frozen=True)
class Sparsifier:
    """A private count of the coefficients that the LASSO without privacy would not set to zero.

    This is the rule of Khanna, Lu and Raff, "Sparse Private LASSO Logistic Regression" (2023): clip
    the count to public bounds, add noise, and keep that many of the private model's coefficients.

    A public number, ``n_nonzero=k``, is nearly always the better choice. At the paper's budget
    share the noise is many times wider than the bounds: the released count is ``low`` or ``high``,
    each with probability near 1/2, whatever the true count is. It is almost a coin flip that costs
    budget.

    Parameters
    ----------
    budget_share : float, default=0.05
        Share of the fit's rho that is spent on the count.
    low : int or None, default=None
        Public lower bound of the count. None means sqrt(size), rounded down, where ``size`` is the
        number of coefficients: features times outputs.
    high : int or None, default=None
        Public upper bound of the count. None means 2 sqrt(size), rounded down, at most size.
    precision : float, default=1.0
        Factor of the released count; below 1, fewer coefficients are kept.

    Formal guarantees
    -----------------
    - Neighbouring: any relation, also between people with many rows, see `noisy_count`. The
      sensitivity of the count is bounded by the clipping alone, however accurately the LASSO was
      solved.
    - Cost: `keep` is epsilon-DP for its argument ``epsilon``, in addition to the cost of the fit.
      ``precision``, rounding and `keep_largest` are post-processing.
    - Assumptions: the parameters, ``size``, the radius and the loss are public, and the bits of the
      generator are fair and secret. The running time of `keep` depends on the data.

    Examples
    --------
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
        """Return the bounds (low, high) that the count of ``size`` coefficients is clipped to.

        Parameters
        ----------
        size : int
            The number of coefficients: features times outputs.

        Returns
        -------
        tuple of int
            The lower and the upper bound.
        """
        size = checks.count("size", size, least=1)
        # With one coefficient, low = sqrt(1) would equal high.
        low = (math.isqrt(size) if size > 1 else 0) if self.low is None else int(self.low)
        high = min(math.isqrt(4 * size), size) if self.high is None else int(self.high)
        if not low < high <= size:
            raise ParameterError(
                "{low} and {high} must be such that {low} < {high} <= {size}, the number of "
                "coefficients, got {least} and {most}; give both to Sparsifier",
                size=size,
                least=low,
                most=high,
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
        weights: NDArray[np.float64] | None = None,
    ) -> int:
        """Return how many of ``size`` coefficients to keep, with epsilon-DP; see the class.

        Columns beyond the first ``size // loss.outputs``, such as an intercept, are fitted but not
        counted.

        Parameters
        ----------
        matrix : ColumnMatrix
            The rows.
        labels : array
            Labels as ``loss.encode`` returns them.
        loss : Loss
            The loss that the LASSO minimises.
        radius : float
            The bound on the 1-norm of the weights.
        size : int
            The number of coefficients.
        epsilon : float
            The budget of the count; ``math.inf`` adds no noise and gives no privacy.
        generator : numpy.random.Generator
            The source of random bits.
        weights : array or None, default=None
            One weight per row.

        Returns
        -------
        int
        """
        low, high = self.bounds(size)
        features = size // loss.outputs
        if features * loss.outputs != size or features > matrix.shape[1]:
            raise ParameterError(
                "{size} must be the outputs of the loss times no more than the columns of the "
                "matrix, got {value}; it is the number of coefficients",
                value=size,
            )
        found = lasso(matrix, labels, loss, radius, gap=1e-4, weights=weights).weights[:features]
        count = noisy_count(int(np.count_nonzero(found)), low, high, epsilon, generator)
        return round(min(count * self.precision, float(size)))


def keep_largest(weights: sp.csr_array, k: int) -> sp.csr_array:
    """Keep the ``k`` entries of largest absolute value; ties go to the first class, then column.

    >>> keep_largest(sp.csr_array([[0.5, -2.0], [0.5, 0.0]]), 2).toarray()
    array([[ 0.5, -2. ],
           [ 0. ,  0. ]])
    """
    k = checks.count("k", k, least=0)
    kept = sp.csr_array(weights, copy=True)
    kept.sum_duplicates()  # also sorts the columns
    falling = np.argsort(-np.abs(kept.data), kind="stable")
    kept.data[falling[k:]] = 0.0
    kept.eliminate_zeros()
    return kept
