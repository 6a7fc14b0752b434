"""The cost of choosing a few columns and fitting them, fixed before data are read."""

import math
from dataclasses import dataclass
from fractions import Fraction

from dplasso.base import checks
from dplasso.losses import Loss, OneMarginLoss, check_taken
from dplasso.privacy import zcdp
from dplasso.privacy.calibration import Neighboring
from dplasso.privacy.events import BoundedRange, Composed, Event, Gaussian, Repeated
from dplasso.solvers.descent_budget import UnderRelation
from dplasso.solvers.gradient.plan import GradientPlan, plan_descent

# The losses this solver takes.
LOSSES = (OneMarginLoss,)
# Share of rho for choosing, and share of that for the centre. The descent gets the rest of rho.
CHOICE_SHARE, CENTRE_SHARE = 0.5, 0.05
# Integer value of a label at its bound. Residuals are at most twice that, entries 2^20 and rows
# 2^27: scores fit into 63 bits whatever the data, and never overflow.
LABEL = 2**14
# Grains per unit of a label when noise is added: noise is drawn on a grid that must be fine.
GRAINS = 2**8
# Covers the rounding of a square root: together the shares cannot exceed rho.
_SAFE = 1.0 - 1e-12


@dataclass(frozen=True)
class FewPlan(UnderRelation):
    """The numbers of a column choice and a descent, all of them public.

    Formal guarantees
    -----------------
    In order: a bound on entries, ``bound_epsilon``-bounded-range, where that is not 0; the sum of
    the labels, a `GridGaussian` of noise multiplier ``centre_multiplier``; ``n_chosen`` draws of a
    column and its sign, each ``draw_epsilon``-bounded-range; and the releases of ``refit``. Costs
    add in rho, to `rho_of(epsilon, delta)` at most, under ``neighboring``. Sensitivities are
    exact integers (`solvers/few/scores.py`): a row counts LABEL * GRAINS in the sum of labels,
    and moves signed scores within a range of twice the largest entry times the longest residual,
    both twice that where rows are replaced, and ``rows_per_person`` times that for a person whose
    rows' weights add up to that number. ``n_rows`` is a public number, the same for both
    neighbours; it need not be the number of rows.
    """

    epsilon: float
    delta: float
    neighboring: Neighboring
    n_rows: int
    n_chosen: int
    centre_multiplier: float
    draw_epsilon: float
    refit: GradientPlan
    event: Event
    bound_epsilon: float = 0.0  # bounded range of the bound on entries, which is released first
    rows_per_person: int = 1

    @property
    def centre_sigma(self) -> float:
        """Noise standard deviation of the sum of the labels, in grains."""
        return self.centre_multiplier * self.times_a_row * LABEL * GRAINS

    def theta(self, longest: int) -> Fraction:
        """Inverse temperature of the draws if a row moves no score by more than ``longest``.

        The scores of a column's two signs then move apart by twice that.
        """
        return Fraction(self.draw_epsilon) / (2 * self.rows_changed * longest)

    @property
    def rho(self) -> float:
        """The zCDP cost of all releases."""
        return zcdp.rho(self.event)


def plan_few(
    loss: Loss,
    *,
    epsilon: float,
    delta: float,
    n_rows: int,
    n_chosen: int,
    neighboring: Neighboring = "add_remove",
    bound_share: float = 0.0,
    share: float = 1.0,
    rows_per_person: int = 1,
) -> FewPlan:
    """Plan a fit: half of rho chooses columns, half fits them, after the share of the bound.

    The parameters are those of `dplasso.solvers.gradient.plan_descent`.

    >>> from dplasso.losses import LogisticLoss
    >>> public = dict(epsilon=1.0, delta=1e-8, n_rows=10_000, n_chosen=3)
    >>> plan = plan_few(LogisticLoss(), **public)
    >>> plan.refit.n_columns, round(plan.draw_epsilon, 3), plan.rho <= zcdp.rho_of(1.0, 1e-8)
    (3, 0.148, True)
    """
    checks.bound("epsilon", epsilon)  # without privacy there is no need to choose columns first
    n_chosen = checks.count("n_chosen", n_chosen, least=1)
    check_taken(loss, LOSSES, "a choice of columns")
    left = (1.0 - bound_share) * share
    refit = plan_descent(
        loss,
        epsilon=epsilon,
        delta=delta,
        n_rows=n_rows,
        n_columns=n_chosen,
        neighboring=neighboring,
        account="zcdp",
        share=left * (1.0 - CHOICE_SHARE),
        rows_per_person=rows_per_person,
    )
    rho = zcdp.rho_of(epsilon, delta)
    choosing = left * CHOICE_SHARE * rho
    bound_epsilon = math.sqrt(8.0 * bound_share * rho) * _SAFE
    centre_multiplier = 1.0 / (math.sqrt(2.0 * CENTRE_SHARE * choosing) * _SAFE)
    draw_epsilon = math.sqrt(8.0 * (1.0 - CENTRE_SHARE) * choosing / n_chosen) * _SAFE
    _check_noise(centre_multiplier * refit.rows_per_person)
    bound = (BoundedRange(bound_epsilon),) if bound_share else ()
    draws = Repeated(BoundedRange(draw_epsilon), n_chosen)
    return FewPlan(
        epsilon=refit.epsilon,
        delta=refit.delta,
        neighboring=neighboring,
        n_rows=refit.n_rows,
        n_chosen=n_chosen,
        centre_multiplier=centre_multiplier,
        draw_epsilon=draw_epsilon,
        refit=refit,
        event=Composed((*bound, Gaussian(centre_multiplier), draws, refit.event)),
        bound_epsilon=bound_epsilon,
        rows_per_person=refit.rows_per_person,
    )


def _check_noise(centre_multiplier: float) -> None:
    """Reject a noise level that the integer grid of the labels cannot represent."""
    if not 2.0**-10 <= centre_multiplier <= 2.0**25:
        raise ValueError(
            "epsilon and delta ask for more, or less, noise than whole numbers can hold; "
            "choose an epsilon between 1e-5 and 1e6"
        )
