"""What plans of descents share: the budget of Gaussian releases, and the dropping of weights."""

import math
from typing import Literal, NamedTuple

from dplasso.privacy import gaussian, zcdp
from dplasso.privacy.calibration import Neighboring

Account = Literal["gaussian", "zcdp"]
_SAFE = 1.0 - 1e-12
_UP = 1.0 + 1e-15


class UnderRelation:
    """A plan whose releases are private under a neighbouring relation.

    Neighbours differ in one person, who counts as ``rows_per_person`` rows at most: the weights of
    that person's rows add up to no more. Without people, every row is one.
    """

    neighboring: Neighboring
    rows_per_person: int

    @property
    def rows_changed(self) -> int:
        """Number of rows, by their weights, whose contributions differ between two neighbours."""
        return self.rows_per_person * (1 if self.neighboring == "add_remove" else 2)

    @property
    def times_a_row(self) -> float:
        """The same as a factor of a row's sensitivity; it covers the rounding of products."""
        return self.rows_changed * (_UP if self.rows_per_person > 1 else 1.0)


class DescentBudget(NamedTuple):
    """mu of all Gaussian releases, and the bounded range of a bound that is released first."""

    mu: float
    bound_epsilon: float


def descent_budget(
    epsilon: float, delta: float, account: Account, bound_share: float, share: float
) -> DescentBudget:
    """Split the budget of a fit.

    Without an accountant, and if all releases of the fit are Gaussian, the exact Gaussian curve
    applies, and ``share`` is of mu^2. Otherwise costs add up in rho: ``bound_share`` is spent on a
    bound on entries, and ``share`` of what remains.

    Formal guarantees
    -----------------
    Releases that are mu-GDP together, after one of the bounded range, are (epsilon, delta)-DP, and
    so are they with further ones within 1 - ``share``: Gaussian ones by the first account, any by
    the second.
    """
    if account == "gaussian" and not bound_share:
        mu = gaussian.mu_of(epsilon, delta)
        return DescentBudget(mu if share == 1.0 else mu * math.sqrt(share) * _SAFE, 0.0)
    rho = zcdp.rho_of(epsilon, delta)
    bound_epsilon = math.sqrt(8.0 * bound_share * rho) * _SAFE if bound_share else 0.0
    left = (1.0 - bound_share) * share
    return DescentBudget(math.sqrt(2.0 * left * rho) * _SAFE, bound_epsilon)


def weights_left(
    done: float, everything: int, kept: int | None, between: tuple[float, float]
) -> int:
    """Number of nonzero weights after a share ``done`` of the steps.

    It decreases geometrically from ``everything`` to ``kept`` between two shares of the steps.
    """
    if kept is None or kept >= everything:
        return everything
    first, last = between
    way = min(max((done - first) / (last - first), 0.0), 1.0)
    return round(kept * math.pow(everything / kept, 1.0 - way))
