"""Rules for the "auto" of radius, max_iter and n_nonzero: functions of public facts.

The choice of the solver is `dplasso.fitting.registry.auto_solver`, which asks some of them.
Nothing here may read the data. ``rows`` is the declared number of rows, or the real one treated as
public; the privacy statement of a fit says which. Where people count as several rows, it is divided
by that number: rules compare it with the noise, which grows so many times. The constants were
chosen on the data sets of ``benchmarks/utility.py``, which compares the rules with a grid tuned on
the test rows. Those of `few_stand_out` were chosen by the results in
``benchmarks/results/gradient_ideas.txt``.
"""

import math

from dplasso.base.arrays import Ints
from dplasso.data import ColumnBounds
from dplasso.privacy.gaussian import mu_of
from dplasso.privacy.zcdp import rho_of
from dplasso.solvers.table.plan import (
    MOST_IN_TABLE,
    MOST_OF_TWO_CLASSES,
    pays_for_two_classes,
    reach_of,
)

FEWEST_ROUNDS, MOST_ROUNDS = 3, 1000
SMALLEST_REACH, LARGEST_REACH = 0.5, 30.0  # the largest is per output
MOST_WIDENED = 10.0  # how many times as large it may be for several classes without privacy
LEAST_SIGNAL = 4.0  # number of rows times mu, per root of the columns, that shows them
LARGEST_NOISE_OF_ALIKE = 5.0  # as `pays_for_two_classes`, where all columns share one bound
FEWEST_RANGES = 4  # columns with ranges that are a table beside wide columns of unknown kind
MOST_PER_RANGE = 1024  # wide columns per range that are; beyond, most of what there is are words
# Coefficients kept of very many columns: per root of their number, or if that is more, per unit of
# signal (the number of rows times mu), up to a share of them. Where the signal is near UNSEEN,
# hardly any column can be told from noise.
KEPT_PER_ROOT, KEPT_PER_SIGNAL, KEPT_SHARE, UNSEEN = 16.0, 8.0, 1 / 8, 40.0
ROOTS_PAY = 600.0  # number of rows times mu from which on weights of words say more than presence
FEW_NONZEROS = 4  # largest number of columns that are selected before they are fitted
STANDS_OUT = 9.0  # required signal of the rows, in units of the signal that a selection needs


def auto_rounds(epsilon: float, delta: float, rows: float, columns: int, outputs: int = 1) -> int:
    """Number of rounds, small enough that the selected vertices stand out from the noise.

    Each of T rounds has theta = sqrt(2 rho / T), for unit bounds. A score stands out among V
    vertices if theta times the score exceeds about ln V. Therefore ``rows * sqrt(2 rho) / ln V``,
    the signal of all rows in units of the signal that a selection needs, determines the number of
    rounds. The proportionality and the factor 1/4 are measured, not derived.

    >>> auto_rounds(1.0, 1e-6, 15_000, 42_000), auto_rounds(0.1, 1e-6, 15_000, 42_000)
    (73, 9)
    """
    vertices = 2 * outputs * (columns + 1)
    signal = rows * math.sqrt(2.0 * rho_of(min(epsilon, 1e6), delta))
    rounds = math.ceil(signal / (4.0 * math.log(vertices)))
    return max(FEWEST_ROUNDS, min(MOST_ROUNDS, rounds))


def auto_reach(epsilon: float, delta: float, rows: float, columns: int, outputs: int = 1) -> float:
    """Largest margin of a row, the radius times the bound on entries: an eighth of the rounds.

    The last step, 2 / (T + 2) of the ball, then changes no margin by more than about 1/4. In a
    larger ball margins still oscillate when the rounds end; a smaller ball restricts the weights.
    Classes share one ball, so the largest reach is multiplied by the number of outputs.
    """
    rounds = auto_rounds(epsilon, delta, rows, columns, outputs)
    return max(SMALLEST_REACH, min(LARGEST_REACH * outputs, rounds / 8.0))


def converged_reach(rows: float, columns: int, outputs: int = 1) -> float:
    """Largest margin of a row in a fit without privacy, which runs until it has converged.

    No rounds and no noise limit the ball then, only overfitting. For several classes it is widened
    by half the root of the number of rows per coefficient, if that is above 1: with 30 rows per
    coefficient, `LARGEST_REACH` per class loses three points of accuracy of 26 letters, and with
    two rows per coefficient a wider ball loses log-loss of ten digits. For one output, a wider ball
    gains less, and takes far longer to converge.

    >>> converged_reach(13_333, 16, 1), converged_reach(13_333, 16, 26) > 2_000.0
    (30.0, True)
    """
    if outputs == 1:
        return LARGEST_REACH
    widened = 0.5 * math.sqrt(rows / ((columns + 1) * outputs))
    return LARGEST_REACH * outputs * max(1.0, min(MOST_WIDENED, widened))


def auto_nonzeros(epsilon: float, delta: float, rows: float, columns: int) -> int:
    """Number of coefficients that a descent with one output keeps of very many columns.

    >>> [auto_nonzeros(epsilon, 1e-8, 15_000, 42_000) for epsilon in (0.1, 1.0, 8.0)]
    [3280, 5250, 5250]
    >>> [auto_nonzeros(epsilon, 1e-8, 15_000, 1_000_000) for epsilon in (0.1, 1.0, 8.0)]
    [16000, 23528, 125000]
    >>> [auto_nonzeros(0.1, 1e-8, rows, 42_000) for rows in (3_000, 300)]
    [15757, 42000]
    """
    return kept_of(rows * mu_of(min(epsilon, 1e3), delta), columns)


def kept_of(
    signal: float,
    columns: int,
    per_root: float = KEPT_PER_ROOT,
    per_signal: float = KEPT_PER_SIGNAL,
    share: float = KEPT_SHARE,
    unseen: float = UNSEEN,
) -> int:
    """Number of columns to keep where the number of rows times mu is ``signal``.

    The more columns there are, the more of them are rare, and the smaller is the share that is
    needed: the number grows like a root. In rows of length 1 with m entries, absolute entries add
    up to at most sqrt(m), so at most ``signal * sqrt(m)`` columns can have sums above the noise: of
    millions of columns, a multiple of the signal is worth keeping. But if even columns that are in
    most rows are hardly above the noise, it cannot be told which ones to drop, and the number grows
    as the signal falls, up to all columns. The constants are those of the smallest numbers that
    lose little on the sets of benchmarks/few_coefficients.py.
    """
    seen = max(per_root * math.sqrt(columns), min(per_signal * signal, share * columns))
    return min(columns, math.ceil(max(seen, columns * (unseen / signal) ** 2)))


def roots_pay(epsilon: float, delta: float, rows: float) -> bool:
    """Whether rows are so many, at this budget, that the weights of their words can be learnt.

    On two sets of text, roots of entries lose up to 0.04 of accuracy against their presence where
    the number of rows times mu is about 100 or less, and gain up to 0.005 from 2,900 on; between,
    there is no clear difference (benchmarks/results/row_maps.txt), and for entries of 0 and 1
    there is none at all.

    >>> [roots_pay(epsilon, 1e-8, 15_000) for epsilon in (0.1, 1.0)]
    [False, True]
    """
    return rows * mu_of(min(epsilon, 1e3), delta) >= ROOTS_PAY


def few_stand_out(epsilon: float, delta: float, rows: float, columns: int, n_nonzero: int) -> bool:
    """Whether there are enough rows, at this budget, to select informative columns.

    k draws share the budget, so theta of each draw is proportional to sqrt(rho / k). An informative
    column needs theta times its score above ln V, for V signed columns. The number of rows that a
    column separates is not public; the requirement that ``rows * sqrt(2 rho / k)`` is at least nine
    times ln V is measured.
    """
    signal = rows * math.sqrt(2.0 * rho_of(min(epsilon, 1e6), delta) / n_nonzero)
    return signal >= STANDS_OUT * math.log(2 * columns)


def is_table(
    epsilon: float,
    delta: float,
    rows: float,
    columns: int,
    outputs: int,
    of_numbers: bool,
    own_bounds: bool = False,
) -> bool:
    """Whether columns are so few, and rows so many, that standardising the columns pays.

    For numbers and for more than two classes it always does, up to a thousand columns. For two
    classes the noise of the columns' products must not exceed their own variance by far: below
    that, and for more columns, rows of length 1 lose less than estimates of each column would
    (measured on the sets of benchmarks/accuracy.py). Columns that share one bound, mostly 0 and 1,
    gain less by being standardised than columns with bounds or ranges of their own, and may have
    less noise (benchmarks/table_or_descent.py). Where rows are so few that columns can hardly be
    seen at all, it is a table again, whose fit returns the shares of the classes instead of noise.
    """
    if of_numbers or outputs > 1:
        return columns <= MOST_IN_TABLE
    signal = rows * mu_of(min(epsilon, 1e3), delta)
    if signal < LEAST_SIGNAL * math.sqrt(columns) and columns <= MOST_OF_TWO_CLASSES:
        return True
    if not own_bounds and reach_of(signal, columns) > LARGEST_NOISE_OF_ALIKE:
        return False
    return pays_for_two_classes(signal, columns)


def is_table_beside(n_ranges: int, n_wide: int, of_categories: bool, of_numbers: bool) -> bool:
    """Whether columns with ranges are a table that takes up the best of the wide columns.

    The wide columns of hashed categories are few per row and often present: the table solver takes
    up those. Of long text it would take up a few words and drop the rest, which hold most of what
    can be learnt; there the descent on rows of length 1 is more accurate for classes
    (benchmarks/results/numbers_beside_text.txt). Where it is not declared what wide columns are,
    very many per range count as words. Labels that are numbers need standardised columns.

    >>> is_table_beside(50, 8_000, of_categories=False, of_numbers=False)
    True
    >>> [is_table_beside(4, 70_000, declared, of_numbers=False) for declared in (False, True)]
    [False, True]
    """
    if of_categories:
        return n_ranges > 0
    if n_ranges < FEWEST_RANGES:
        return False
    return of_numbers or n_wide <= MOST_PER_RANGE * n_ranges


def table_part(bounds: ColumnBounds | None, columns: int) -> Ints | None:
    """The columns with ranges, if the others are wide; None if no column is.

    Of more columns than a table has, those with one bound instead of a range are wide: they are
    hashed, or words of a text.
    """
    return None if bounds is None or columns <= MOST_IN_TABLE else bounds.paired
