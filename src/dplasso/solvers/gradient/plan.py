"""The plan of a descent and its cost, fixed by public numbers before data are read."""

import math
from dataclasses import dataclass

from dplasso.base import checks
from dplasso.base.arrays import Ints
from dplasso.losses import Loss, OneMarginLoss, SoftmaxLoss, check_taken
from dplasso.losses.pace import Pace, Thresholds
from dplasso.privacy import gaussian
from dplasso.privacy.calibration import Neighboring
from dplasso.privacy.events import BoundedRange, Composed, Event, Gaussian, PureDP, Repeated
from dplasso.solvers.descent_budget import Account, UnderRelation, descent_budget, weights_left

# The losses this solver takes.
LOSSES = (OneMarginLoss, SoftmaxLoss)
# The intercept is a column of this value, added to rows of length 1.
CONSTANT = 0.3
# 2-norm of a row with its constant, rounded up.
ROW_LENGTH = 1.0440306508910551
NARROW_COLUMNS = 1000
# With a larger mu a descent gets no longer, because it would overfit.
MOST_MU = 3.0
# Weights beyond a public number of nonzeros are dropped between these shares of the steps. There
# must be steps before, between and after the cuts, and more of them if few weights remain.
CUT_FROM, CUT_UNTIL = 0.3, 0.7
FEWEST_STEPS_CUT, FEWEST_STEPS_TO_FEW, FEW_NONZEROS = 20, 40, 100
# Share of the steps in which weights are held back if the signal is weak.
HELD_UNTIL = 2 / 3
# Bits of a row's integer length (fewer if sums or noise would not fit), and limits for these.
MOST_BITS, SUM_BITS, NOISE_BITS, LEAST_NOISE_BITS = 36, 61, 48, 12


@dataclass(frozen=True)
class GradientPlan(UnderRelation):
    """The numbers of a descent, all of them public.

    Formal guarantees
    -----------------
    One release of column masses, of noise multiplier ``mass_multiplier``, and ``steps`` releases of
    gradient sums, of ``step_multiplier``, each a `GridGaussian` of the standard deviation stated:
    together mu-GDP, mu = `mu_of(epsilon, delta)` at most, under ``neighboring`` and hence
    (epsilon, delta)-DP. Sensitivities are exact integers (`solvers/gradient/rows.py`): a row
    counts 2^unit_bits in the masses and 2^unit_bits * ROW_LENGTH in a step, twice that where rows
    are replaced, and ``rows_per_person`` times that where neighbours differ in a person whose rows'
    weights add up to that number. If ``bound_epsilon`` is not 0, a release of that bounded range
    comes first, mu is what it leaves, and costs add in rho. ``n_rows`` is a public number, the same
    for both neighbours. It only scales steps and masses; it need not be the number of rows, and
    sums may overflow. An infinite epsilon promises nothing.
    """

    epsilon: float
    delta: float
    neighboring: Neighboring
    n_rows: int
    n_columns: int
    outputs: int
    clip: float  # bound on the 2-norm of a row's residuals
    mu: float
    mass_multiplier: float
    step_multiplier: float
    steps: int
    step: float
    held_back: float  # factor on the weights until HELD_UNTIL of the steps
    intercept_step: float
    thresholds: Thresholds  # masses above which columns are damped or centred
    reweighted: bool
    n_nonzero: int | None  # number of weights that remain, all outputs together
    unit_bits: int
    event: Event
    bound_epsilon: float = 0.0  # bounded range of the bound on entries, which is released first
    rows_per_person: int = 1
    numbers: Ints | None = None  # columns of numbers that were centred by public ranges

    @property
    def unit(self) -> float:
        """Grid units per length of 1."""
        return 2.0**self.unit_bits

    @property
    def mass_sigma(self) -> float:
        """Noise standard deviation of the sums of unit rows, in grid units."""
        return self.mass_multiplier * self.times_a_row * self.unit

    @property
    def step_sigma(self) -> float:
        """Noise standard deviation of the sums of a step, in grid units."""
        return self.step_multiplier * self.times_a_row * self.unit * ROW_LENGTH

    @property
    def step_noise(self) -> float:
        """The same in units of a gradient; without noise, that of MOST_MU, to judge columns by."""
        sigma = self.step_sigma or math.sqrt(self.steps) / MOST_MU * self.unit * ROW_LENGTH
        return sigma * self.grid

    @property
    def grid(self) -> float:
        """Value of one grid unit of a step's sums, as a gradient."""
        return self.clip / self.unit

    def step_after(self, done: int) -> float:
        """Factor of a gradient in the weights after ``done`` steps."""
        return self.step * (self.held_back if done < HELD_UNTIL * self.steps else 1.0)

    def weights_left(self, done: int) -> int:
        """Number of nonzero weights after ``done`` steps; it decreases geometrically."""
        everything = self.outputs * self.n_columns
        return weights_left(done / self.steps, everything, self.n_nonzero, (CUT_FROM, CUT_UNTIL))


def plan_descent(
    loss: Loss,
    *,
    epsilon: float,
    delta: float,
    n_rows: int,
    n_columns: int,
    n_nonzero: int | None = None,
    neighboring: Neighboring = "add_remove",
    account: Account = "gaussian",
    bound_share: float = 0.0,
    share: float = 1.0,
    rows_per_person: int = 1,
    numbers: Ints | None = None,
) -> GradientPlan:
    """Plan a descent from the loss and the declared numbers only.

    ``epsilon`` and ``delta`` are the budget of all releases together. The exact Gaussian curve
    allows slightly less noise than zCDP, in which a ledger adds releases of different kinds:
    ``account="zcdp"`` plans for the latter, and so does a ``bound_share``, the share of rho that is
    spent on a bound on entries first. ``share``, of mu^2 or of the rest of rho, is what the other
    releases of a fit leave; by the Gaussian curve, those must be Gaussian, too. ``n_nonzero``
    weights remain, all outputs together; the limit costs nothing. ``rows_per_person`` is the
    largest sum of the weights of a person's rows, if people are protected; ``n_rows`` is then that
    of all rows.

    >>> from dplasso.losses import LogisticLoss
    >>> public = dict(epsilon=1.0, delta=1e-8, n_rows=10_000, n_columns=50_000)
    >>> plan = plan_descent(LogisticLoss(), **public)
    >>> plan.steps, round(gaussian.mu(plan.event), 3), round(plan.mu, 3)
    (30, 0.196, 0.196)
    """
    check_taken(loss, LOSSES, "gradient descent")
    epsilon, delta = checks.target("epsilon", epsilon), checks.probability("delta", delta)
    n_rows = checks.count("n_rows", n_rows, least=1)
    n_columns = checks.count("n_columns", n_columns, least=1)
    if neighboring not in ("add_remove", "replace_one"):
        raise ValueError(f"neighboring must be 'add_remove' or 'replace_one', got {neighboring!r}")
    person = checks.count("rows_per_person", rows_per_person, least=1)
    changed = person * (1 if neighboring == "add_remove" else 2)
    mu, bound_epsilon = descent_budget(epsilon, delta, account, bound_share, share)
    narrow = n_columns <= NARROW_COLUMNS
    pace = _pace(loss, narrow, n_nonzero)
    mass_mu, steps_mu = gaussian.split(mu, (pace.mass_share, 1.0 - pace.mass_share))
    signal = n_rows * min(steps_mu / changed, MOST_MU) / ROW_LENGTH
    steps, length = _steps(pace, signal)
    intercept_step = min(pace.intercept_step, pace.intercept_noise * signal / steps)
    mass_multiplier, step_multiplier = 1.0 / mass_mu, math.sqrt(steps) / steps_mu
    return GradientPlan(
        epsilon=epsilon,
        delta=delta,
        neighboring=neighboring,
        n_rows=n_rows,
        n_columns=n_columns,
        outputs=loss.outputs,
        clip=pace.cut * loss.first_residual(),
        mu=mu,
        mass_multiplier=mass_multiplier,
        step_multiplier=step_multiplier,
        steps=steps,
        step=length / (steps * n_rows),
        held_back=_held_back(pace, math.inf if math.isinf(mu) else signal / math.sqrt(n_columns)),
        intercept_step=intercept_step / (pace.cut * n_rows),
        thresholds=pace.thresholds,
        reweighted=not narrow,
        n_nonzero=n_nonzero,
        unit_bits=_unit_bits(n_rows, changed, mass_multiplier, step_multiplier),
        event=_event(bound_epsilon, mass_multiplier, step_multiplier, steps),
        bound_epsilon=bound_epsilon,
        rows_per_person=person,
        numbers=numbers,
    )


def _pace(loss: Loss, narrow: bool, n_nonzero: int | None) -> Pace:
    paces = loss.paces()
    pace = paces.narrow if narrow else paces.wide
    if n_nonzero is None:
        return pace
    few = checks.count("n_nonzero", n_nonzero, least=1) <= FEW_NONZEROS
    fewest = FEWEST_STEPS_TO_FEW if few else FEWEST_STEPS_CUT
    return pace._replace(fewest_steps=max(pace.fewest_steps, fewest))


def _steps(pace: Pace, signal: float) -> tuple[int, float]:
    """Number of steps and their total length, in units of a residual at its clip.

    ``signal`` is the number of rows divided by the noise that all steps together leave in a unit
    row's margin if their total length is 1.
    """
    most = pace.longest_step * pace.lengthened * pace.most_steps
    length = min(pace.margin_noise * signal, most)
    steps = min(math.ceil(length / pace.longest_step), pace.most_steps)
    return max(steps, pace.fewest_steps), length / pace.cut


def _held_back(pace: Pace, clearness: float) -> float:
    """1 if rows exceed the noise of all columns; below that, an empirical power law."""
    return min(1.0, clearness / pace.clear_from) ** 4 if pace.clear_from else 1.0


def _event(
    bound_epsilon: float, mass_multiplier: float, step_multiplier: float, steps: int
) -> Event:
    if mass_multiplier == 0.0:
        return PureDP(math.inf)
    descent = (Gaussian(mass_multiplier), Repeated(Gaussian(step_multiplier), steps))
    return Composed((BoundedRange(bound_epsilon), *descent) if bound_epsilon else descent)


def _unit_bits(n_rows: int, changed: int, *multipliers: float) -> int:
    """Bits for which the sums of the declared rows and the noise fit into 64-bit integers."""
    bits = min(MOST_BITS, SUM_BITS - n_rows.bit_length())
    if 0.0 in multipliers:
        return bits
    most = math.log2(max(multipliers) * changed * ROW_LENGTH)
    bits = min(bits, math.floor(NOISE_BITS - most))
    if bits + math.log2(min(multipliers)) < LEAST_NOISE_BITS or bits < LEAST_NOISE_BITS:
        raise ValueError(
            "epsilon and delta ask for more, or less, noise than whole numbers can hold; "
            "choose an epsilon between 1e-5 and 1e6, or math.inf for no privacy"
        )
    return bits
