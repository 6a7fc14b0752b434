"""The plan of a correction and its cost, fixed by public numbers before data are read."""

import math
from dataclasses import dataclass

from dplasso.base import checks
from dplasso.kernels.calibration import CLASS_WEIGHT, UNIT
from dplasso.losses import Loss
from dplasso.losses.base import Probabilities
from dplasso.mechanisms.gaussian_cells import LEAST_SIGMA, MOST_SIGMA
from dplasso.privacy import gaussian
from dplasso.privacy.calibration import Neighboring
from dplasso.privacy.events import Composed, Gaussian, Repeated
from dplasso.solvers.descent_budget import UnderRelation

# Share of the budget of a fit, in mu^2 or rho, that corrects its probabilities. The noise of all
# other releases grows by 2.6 %. At epsilon 1 and from a few thousand rows on, what remains to be
# corrected is far below what was (benchmarks/results/calibration.txt).
SHARE = 0.05
# Part of that for the counts; the steps share the rest.
COUNTS = 0.4
# Releases of sums at the current correction. Only if the scale of margins of more than two
# classes must be searched, the first is of slopes at this many spreads, which say where to start.
STEPS, SPREADS = 2, 8
# Grains per row in a count: noise is drawn on a grid that must be fine.
GRAINS = 1 << 24
_UP = 1.0 + 1e-15  # covers the rounding of a square root


@dataclass(frozen=True)
class CorrectionPlan(UnderRelation):
    """The numbers of a correction, all of them public.

    Formal guarantees
    -----------------
    The releases are the counts of `MarginRows.counts`, of noise multiplier ``count_multiplier``,
    and STEPS sums, of ``step_multiplier``: of `MarginRows.sums`, and the first of
    `MarginRows.slopes` if the plan ``searches``. Each is a `GridGaussian` whose standard deviation
    is the multiplier times the sensitivity under ``neighboring``. Together they are mu-GDP.
    ``n_rows`` is a public number, the same for both neighbours; it only scales what is concluded.
    """

    mu: float
    neighboring: Neighboring
    n_rows: int
    outputs: int
    moves_intercept: bool
    searches: bool  # whether margins have no usual scale, so that it is searched first
    count_multiplier: float
    step_multiplier: float
    rows_per_person: int = 1

    @property
    def event(self) -> Composed:
        steps = Repeated(Gaussian(self.step_multiplier), STEPS)
        return Composed((Gaussian(self.count_multiplier), steps))

    @property
    def count_sigma(self) -> float:
        """Noise standard deviation of a count, in grains.

        A row is counted once, and for more than two classes a second time. A replaced row leaves
        one count for another. The counts of a person have at most as many times that length, and
        none is negative.
        """
        counted = 1.0 if self.outputs == 1 else 2.0
        replaced = 1.0 if self.neighboring == "add_remove" else 2.0
        sensitivity = math.sqrt(counted * replaced) * _UP * (self.times_a_row / replaced)
        return self.count_multiplier * sensitivity * GRAINS

    @property
    def step_sigma(self) -> float:
        """Noise standard deviation of the sums of a step."""
        return self.step_multiplier * sensitivity_of(self.outputs) * self.times_a_row

    @property
    def slope_sigma(self) -> float:
        """Noise standard deviation of the slopes by which a scale is searched."""
        sensitivity = math.sqrt(2.0 * SPREADS) * _UP * UNIT
        return self.step_multiplier * sensitivity * self.times_a_row


def sensitivity_of(outputs: int) -> float:
    """Largest length of a row's terms in a step, in whole numbers, rounded up."""
    square = 2.0 if outputs == 1 else 4.0 + CLASS_WEIGHT**2 / 4.0
    return UNIT * math.sqrt(square) * _UP


def plan_correction(
    loss: Loss,
    *,
    mu: float,
    n_rows: int,
    neighboring: Neighboring = "add_remove",
    moves_intercept: bool = True,
    rows_per_person: int = 1,
    known_scale: bool = False,
) -> CorrectionPlan | None:
    """Plan a correction next to a solver that spends ``mu``, which is 1 - SHARE of mu^2.

    ``mu`` is the root of twice the rho that the solver spends, without a bound on entries;
    ``moves_intercept`` says whether intercepts are corrected, too, and ``known_scale`` whether
    margins of more than two classes have a usual scale. There is no plan for a loss without
    probabilities, without privacy, and where whole numbers cannot hold the noise, because epsilon
    is next to nothing or enormous.

    >>> from dplasso.losses import LogisticLoss
    >>> plan = plan_correction(LogisticLoss(), mu=math.sqrt(0.95), n_rows=1000)
    >>> round(plan.mu**2, 9), bool(gaussian.mu(plan.event) <= plan.mu)
    (0.05, True)
    """
    if not isinstance(loss, Probabilities) or math.isinf(mu):
        return None
    own = checks.budget("mu", mu) * math.sqrt(SHARE / (1.0 - SHARE)) * (1.0 - 1e-12)
    counts, steps = gaussian.split(own, (COUNTS, 1.0 - COUNTS))
    plan = CorrectionPlan(
        mu=own,
        neighboring=neighboring,
        n_rows=checks.count("n_rows", n_rows, least=1),
        outputs=loss.outputs,
        moves_intercept=moves_intercept,
        searches=loss.outputs > 1 and not known_scale,
        count_multiplier=1.0 / counts,
        step_multiplier=math.sqrt(STEPS) / steps,
        rows_per_person=checks.count("rows_per_person", rows_per_person, least=1),
    )
    sigmas = plan.count_sigma, plan.step_sigma, plan.slope_sigma
    drawable = min(sigmas) >= LEAST_SIGMA and max(sigmas) * (1.0 + 1e-9) <= MOST_SIGMA
    return plan if drawable else None
