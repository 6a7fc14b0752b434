"""The plan of a fit to a table and its cost, fixed by public numbers before data are read."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dplasso.base import checks
from dplasso.kernels.table import CELL_BITS
from dplasso.losses import Loss, OneMarginLoss, SoftmaxLoss, check_taken
from dplasso.losses.table_pace import TablePace
from dplasso.mechanisms.gaussian_cells import LEAST_SIGMA, MOST_SIGMA
from dplasso.privacy import gaussian
from dplasso.privacy.calibration import Neighboring
from dplasso.privacy.events import BoundedRange, Composed, Event, Gaussian, PureDP, Repeated
from dplasso.solvers.descent_budget import Account, descent_budget, weights_left

# The losses this solver takes.
LOSSES = (OneMarginLoss, SoftmaxLoss)
# Squared lengths of rows then fit into 64 bits: columns times the square of a cell.
MOST_COLUMNS = 1 << 14
# Columns of a table in which wide columns are taken up, and the noise of its products, in units of
# a column's variance: beyond these, two classes lose by more columns.
MOST_IN_TABLE, MOST_OF_TWO_CLASSES, LARGEST_NOISE_OF_PRODUCTS = 1000, 200, 13.0
# The intercept is a column of this share of a row's length.
CONSTANT = 0.3
# Shares of mu^2. The steps get what the others leave.
CELLS, MEANS, SPREADS, NUMBERS, COUNTS, SCALE = 0.02, 0.05, 0.05, 0.02, 0.01, 0.01
PRESENCES = 0.02
# Releases of the size of residuals, after these shares of the steps; numbers only.
SCALE_AFTER = (0.25, 0.5)
# Share of the products of columns: it grows with their noise, within limits.
LEAST_PRODUCTS, MOST_PRODUCTS, MOST_PRODUCTS_OF_NUMBERS = 0.03, 0.05, 0.2
# Rows of numbers keep their length up to a multiple of the usual one, and most if noise is small.
MOST_STRETCH = 2.0
# Residuals of two classes are clipped at up to this multiple of their usual clip, and most if noise
# is small: a clip biases the model, which noise hides otherwise.
MOST_CUT = 1.75
# Columns are re-weighted by what their weights have shown after these shares of the steps.
REWEIGHTED_AFTER = (1.0 / 6.0, 1.0 / 3.0)
# Smallest total length of the steps.
LEAST_LENGTH = 2.0
# Weights beyond a public number of nonzeros are dropped between these shares of the steps.
CUT_FROM, CUT_UNTIL = 0.2, 0.5
# Bits of the product of a row and a residual, whose sums must fit into 64 bits.
MOST_BITS, SUM_BITS, NOISE_BITS, LEAST_NOISE_BITS = 38, 61, 48, 12
CELL = 1 << CELL_BITS
_UP = 1.0 + 1e-15  # covers the rounding of a square root
ROOT_2 = math.sqrt(2.0) * _UP
_OUT_OF_REACH = (
    "epsilon and delta, with this number of rows and columns, ask for more, or less, noise than "
    "whole numbers can hold; choose an epsilon between 1e-3 and 1e5, or math.inf for no privacy"
)


@dataclass(frozen=True)
class TablePlan:
    """The numbers of a fit to a table, all of them public.

    Formal guarantees
    -----------------
    The fit makes these releases, each a sum of whole vectors, one per row, plus Gaussian noise on a
    grid (`GridGaussian`) of standard deviation multiplier times sensitivity: the presences of wide
    columns, if there are any (the others then see those that stand out, too); the mean cell and
    mean squared cell; the means of the columns; their spreads; the labels (mean and spread, or
    counts of classes); the matrix of products of columns; ``steps`` sums of row gradients; and for
    numbers two sizes of residuals. Each may depend on the releases before it. With noise multiplier
    s_k of release k they are together mu-GDP, mu^2 = sum 1 / s_k^2 <= mu_of(epsilon, delta)^2,
    under ``neighboring``, and hence (epsilon, delta)-DP. The sensitivities are properties of
    `dplasso.solvers.table.rows.PrivateTable` and hold exactly. If ``bound_epsilon`` is not 0, a
    release of that bounded range comes first, mu is what it leaves, and costs add in rho.
    ``n_rows`` is a public number; it only scales what is released.
    """

    epsilon: float
    delta: float
    neighboring: Neighboring
    n_rows: int
    n_columns: int  # of the table; `with_taken` adds the wide columns that are taken up
    indicators: tuple[int, ...]  # those of them that are declared to be 0 or 1
    n_wide: int
    most_taken: int  # largest number of wide columns that are taken up
    outputs: int
    pace: TablePace
    mu: float
    cell_multiplier: float
    mean_multiplier: float
    spread_multiplier: float
    label_multiplier: float
    product_multiplier: float
    scale_multiplier: float  # of each size of residuals
    presence_multiplier: float
    step_multiplier: float
    steps: int
    longest: float  # largest total length of the steps
    stretch: float  # length of a standardised row, in units of the root of its number of columns
    cut: float  # absolute value, or 2-norm, at which residuals are clipped; numbers: at first
    n_nonzero: int | None  # number of weights that remain, all outputs together
    unit_bits: int  # of a row, and of a residual
    event: Event
    bound_epsilon: float = 0.0
    rows_per_person: int = 1
    counts_weights: bool = False  # whether the sum of all rows' weights is released, too

    def moved(self, added: float, replaced: float) -> float:
        """Largest distance by which a neighbour moves a sum.

        The arguments are the distances for a row that is added or removed, and for one that is
        replaced. A person whose rows' weights add up to ``rows_per_person`` moves a sum by so many
        times that (`PrivateTable`).
        """
        distance = replaced if self.neighboring == "replace_one" else added
        # The last factor covers the rounding of products.
        return distance * self.rows_per_person * (_UP if self.rows_per_person > 1 else 1.0)

    @property
    def unit(self) -> int:
        """Whole number that stands for the length of a row, and for a clipped residual."""
        return 1 << self.unit_bits

    @property
    def constant(self) -> int:
        """Whole number of the column of the intercept."""
        return int(CONSTANT * self.unit)

    @property
    def square_length(self) -> int:
        """Largest squared 2-norm of a whole row with its constant."""
        return self.unit**2 + self.constant**2

    def row_length(self, columns: int) -> float:
        """Length of a standardised row of this many columns, which have variance 1."""
        return self.stretch * math.sqrt(columns)

    @property
    def has_wide(self) -> bool:
        """Whether presences of wide columns are released."""
        return self.most_taken > 0

    def with_taken(self, taken: int) -> "TablePlan":
        """The same plan, with the same noise, once wide columns were taken up, the last ones.

        They are mostly 0, and count as indicators.
        """
        columns = self.n_columns + taken
        indicators = (*self.indicators, *range(self.n_columns, columns))
        return replace(self, n_columns=columns, indicators=indicators)

    def with_weights(self, total: float) -> "TablePlan":
        """The same plan, with the same noise, once the sum of all rows' weights is released.

        A sum within its noise is taken for that noise.
        """
        least = max(2.0 * self.cell_sigma / CELL, 1.0)
        return replace(self, n_rows=round(min(max(total, least), max(least, self.n_rows))))

    @property
    def presence_sigma(self) -> float:
        """Noise standard deviation of the presences: rows of length CELL, no entry negative."""
        return self.presence_multiplier * CELL * self.moved(1.0, ROOT_2) * _UP

    @property
    def cell_sigma(self) -> float:
        """Noise standard deviation of the sums of cells, all between 0 and CELL per row."""
        distance = math.sqrt(3.0 if self.counts_weights else 2.0)
        return self.cell_multiplier * self.moved(distance, distance) * CELL * _UP

    def mean_sigma(self, length: int) -> float:
        """Noise standard deviation of column sums of rows cut to ``length``."""
        return self.mean_multiplier * length * self.moved(1, 2)

    def spread_sigma(self, length: int) -> float:
        """The same for rows without negative entries, of which two differ by less."""
        return self.spread_multiplier * length * self.moved(1, ROOT_2)

    @property
    def label_sigma(self) -> float:
        """Noise standard deviation of the sums of labels, in units of CELL per row."""
        if self.pace.of_numbers:
            return self.label_multiplier * CELL * self.moved(ROOT_2, 2.0)
        two_counts = ROOT_2 if self.outputs > 1 else 1.0
        return self.label_multiplier * CELL * self.moved(1.0, two_counts)

    @property
    def product_sigma(self) -> float:
        """Noise standard deviation of a squared column sum; of other products it is over root 2."""
        return self.product_multiplier * self.square_length * self.moved(1.0, ROOT_2)

    @property
    def scale_sigma(self) -> float:
        """Noise standard deviation of the sum of squared residuals, between 0 and CELL per row."""
        return self.scale_multiplier * CELL * self.moved(1, 1)

    @property
    def step_sigma(self) -> float:
        """Noise standard deviation of the sums of a step."""
        sensitivity = self.unit * math.sqrt(self.square_length) * _UP
        return self.step_multiplier * sensitivity * self.moved(1, 2)

    @property
    def has_products(self) -> bool:
        """Whether products of columns are released; in too much noise they would show nothing."""
        return self.product_multiplier < math.inf

    @property
    def steps_mu(self) -> float:
        """Cost of all steps together."""
        return math.sqrt(self.steps) / self.step_multiplier if self.step_multiplier else math.inf

    def weights_left(self, done: int) -> int:
        """Number of nonzero weights after ``done`` steps; it decreases geometrically."""
        everything = self.outputs * self.n_columns
        return weights_left(done / self.steps, everything, self.n_nonzero, (CUT_FROM, CUT_UNTIL))

    @property
    def reweighting_steps(self) -> tuple[int, ...]:
        """Numbers of steps after which columns are re-weighted."""
        shares = REWEIGHTED_AFTER if self.pace.reweighted else ()
        return tuple(int(at * self.steps) for at in shares)

    @property
    def scale_steps(self) -> tuple[int, ...]:
        """Numbers of steps after which the size of residuals is released."""
        return tuple(int(at * self.steps) for at in SCALE_AFTER) if self.pace.of_numbers else ()


def plan_table(
    loss: Loss,
    *,
    epsilon: float,
    delta: float,
    n_rows: int,
    n_columns: int,
    indicators: Sequence[int] = (),
    n_wide: int = 0,
    n_nonzero: int | None = None,
    neighboring: Neighboring = "add_remove",
    account: Account = "gaussian",
    bound_share: float = 0.0,
    share: float = 1.0,
    rows_per_person: int = 1,
    counts_weights: bool = False,
) -> TablePlan:
    """Plan a fit to a table from the loss and the declared numbers only.

    ``indicators`` are the columns that are declared to be 0 or 1, and no numbers. ``n_wide`` is the
    number of further columns, mostly 0, of which the frequent ones are taken up.
    ``counts_weights`` says that weights of rows may add up to far less than ``n_rows``: their sum
    is then released with the first answer, and takes its place. The other parameters are those of
    `dplasso.solvers.gradient.plan_descent`.

    >>> from dplasso.losses import LogisticLoss
    >>> public = dict(epsilon=1.0, delta=1e-8, n_rows=10_000, n_columns=50)
    >>> plan = plan_table(LogisticLoss(), **public)
    >>> plan.steps, round(gaussian.mu(plan.event), 3), round(plan.mu, 3)
    (120, 0.196, 0.196)
    """
    check_taken(loss, LOSSES, "the table solver")
    epsilon, delta = checks.target("epsilon", epsilon), checks.probability("delta", delta)
    n_rows = checks.count("n_rows", n_rows, least=1)
    n_columns = checks.count("n_columns", n_columns, least=1, most=MOST_COLUMNS)
    n_wide = checks.count("n_wide", n_wide, least=0)
    if n_nonzero is not None:
        n_nonzero = checks.count("n_nonzero", n_nonzero, least=1)
    if neighboring not in ("add_remove", "replace_one"):
        raise ValueError(f"neighboring must be 'add_remove' or 'replace_one', got {neighboring!r}")
    mu, bound_epsilon = descent_budget(epsilon, delta, account, bound_share, share)
    pace = loss.table_pace()
    two_classes = loss.outputs == 1 and not pace.of_numbers
    person = checks.count("rows_per_person", rows_per_person, least=1)
    signal = n_rows / person * mu
    most_taken = _most_taken(signal, n_columns, n_wide, two_classes)
    reach = reach_of(signal, n_columns)
    products = _product_share(reach, n_columns, pace)
    labels = NUMBERS if pace.of_numbers else COUNTS
    sizes = SCALE * len(SCALE_AFTER) if pace.of_numbers else 0.0
    presences = PRESENCES if most_taken else 0.0
    steps = math.ceil(pace.longest / pace.step)
    before = (CELLS, MEANS, SPREADS, labels, products, sizes, presences)
    counts = (1, 1, 1, 1, 1, len(SCALE_AFTER), 1, steps)
    parts = gaussian.split(mu, (*before, 1.0 - math.fsum(before)))
    multipliers = [
        math.sqrt(count) / part if part else math.inf
        for part, count in zip(parts, counts, strict=True)
    ]
    stretch = min(max((0.3 / reach) ** 0.25, 1.0), MOST_STRETCH) if pace.of_numbers else 1.0
    wider = min(max((1.0 / reach) ** 0.25, 1.0), MOST_CUT) if two_classes else 1.0
    plan = TablePlan(
        epsilon=epsilon,
        delta=delta,
        neighboring=neighboring,
        n_rows=n_rows,
        n_columns=n_columns,
        indicators=tuple(map(int, indicators)),
        n_wide=n_wide,
        most_taken=most_taken,
        outputs=loss.outputs,
        pace=pace,
        mu=mu,
        cell_multiplier=multipliers[0],
        mean_multiplier=multipliers[1],
        spread_multiplier=multipliers[2],
        label_multiplier=multipliers[3],
        product_multiplier=multipliers[4],
        scale_multiplier=multipliers[5],
        presence_multiplier=multipliers[6],
        step_multiplier=multipliers[7],
        steps=steps,
        longest=pace.longest,
        stretch=stretch,
        cut=pace.cut * wider,
        n_nonzero=n_nonzero,
        unit_bits=_unit_bits(n_rows, person, multipliers[4], multipliers[7]),
        event=_event(bound_epsilon, multipliers, counts),
        bound_epsilon=bound_epsilon,
        rows_per_person=person,
        counts_weights=counts_weights,
    )
    _check_noise(plan)
    return plan


def pays_for_two_classes(signal: float, columns: int) -> bool:
    """Whether a table of two classes gains by this many columns; ``signal`` as in `reach_of`."""
    reach = reach_of(signal, columns)
    return columns <= MOST_OF_TWO_CLASSES and reach <= LARGEST_NOISE_OF_PRODUCTS


def _most_taken(signal: float, columns: int, wide: int, two_classes: bool) -> int:
    """The largest number of wide columns by which the table may grow."""
    most = min(wide, max(MOST_IN_TABLE - columns, 0))
    if two_classes:
        most = min(most, max(MOST_OF_TWO_CLASSES - columns, 0))
        while most and not pays_for_two_classes(signal, columns + most):
            most -= 1
    return most


def reach_of(signal: float, columns: int) -> float:
    """Largest eigenvalue of the noise of the products, in units of a column's variance.

    It is for a tenth of the budget. ``signal`` is the number of rows times mu.
    """
    length = (1.0 + CONSTANT**2) * columns
    return max(length * math.sqrt(2.0 * (columns + 1)) / (signal * math.sqrt(0.1)), 1e-12)


def _product_share(reach: float, columns: int, pace: TablePace) -> float:
    if reach > columns:  # the noise hides every eigenvalue
        return 0.0
    most = MOST_PRODUCTS_OF_NUMBERS if pace.of_numbers else MOST_PRODUCTS
    return min(max(0.1 * math.sqrt(reach / 0.3), LEAST_PRODUCTS), most)


def _event(bound_epsilon: float, multipliers: list[float], counts: tuple[int, ...]) -> Event:
    if multipliers[0] == 0.0:
        return PureDP(math.inf)
    parts = tuple(
        Repeated(Gaussian(multiplier), count) if count > 1 else Gaussian(multiplier)
        for multiplier, count in zip(multipliers, counts, strict=True)
        if multiplier < math.inf
    )
    return Composed((BoundedRange(bound_epsilon), *parts) if bound_epsilon else parts)


def _check_noise(plan: TablePlan) -> None:
    """Reject noise that cannot be drawn before a fit is charged, whatever lengths it will use."""
    if not plan.mu < math.inf:
        return
    longest = math.ceil(math.sqrt(plan.n_columns + plan.most_taken) * CELL)
    sigmas = [plan.cell_sigma, plan.label_sigma, plan.step_sigma]
    sigmas += [
        sigma(length)
        for sigma in (plan.mean_sigma, plan.spread_sigma)
        for length in (CELL // 4, longest)
    ]
    sigmas += [plan.product_sigma, plan.product_sigma / 2.0] if plan.has_products else []
    sigmas += [plan.presence_sigma] if plan.has_wide else []
    sigmas += [plan.scale_sigma] if plan.pace.of_numbers else []
    if not (min(sigmas) >= LEAST_SIGMA and max(sigmas) * (1.0 + 1e-9) <= MOST_SIGMA):
        raise ValueError(_OUT_OF_REACH)


def _unit_bits(n_rows: int, person: int, *multipliers: float) -> int:
    """Bits of a row's whole length for which all sums and their noise fit into 64-bit integers."""
    bits = min(MOST_BITS, SUM_BITS - n_rows.bit_length())
    finite = [multiplier for multiplier in multipliers if 0.0 < multiplier < math.inf]
    if finite:
        # A replaced row counts twice, and a row with its constant is longer than its unit.
        bits = min(bits, math.floor(NOISE_BITS - 2 - math.log2(max(finite) * person)))
    bits //= 2
    least = min(finite, default=1.0) * person
    if bits < LEAST_NOISE_BITS // 2 or 2 * bits - 1 + math.log2(least) < LEAST_NOISE_BITS:
        raise ValueError(_OUT_OF_REACH)
    return bits
