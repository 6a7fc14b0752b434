"""Rules for the "auto" of radius, max_iter and n_nonzero: functions of public facts.

The choice of the solver is `dplasso.fitting.registry.auto_solver`, which asks some of them.
Nothing here may read the data. ``rows`` is the declared number of rows, or the real one treated as
public; the privacy statement of a fit says which. The constants were chosen on the data sets of
``benchmarks/utility.py``, which compares the rules with a grid tuned on the test rows. Those of
`few_stand_out` were chosen by the results in ``benchmarks/results/gradient_ideas.txt``.
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
)

FEWEST_ROUNDS, MOST_ROUNDS = 3, 1000
SMALLEST_REACH, LARGEST_REACH = 0.5, 30.0  # the largest is per output
LEAST_SIGNAL = 4.0  # number of rows times mu, per root of the columns, that shows them
FEWEST_RANGES = 4  # columns with ranges that are taken for a table beside wide columns
NONZEROS_PER_ROOT = 16  # coefficients per root of the number of columns
FEW_NONZEROS = 4  # largest number of columns that are selected before they are fitted
STANDS_OUT = 9.0  # required signal of the rows, in units of the signal that a selection needs


def auto_rounds(epsilon: float, delta: float, rows: int, columns: int, outputs: int = 1) -> int:
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


def auto_reach(epsilon: float, delta: float, rows: int, columns: int, outputs: int = 1) -> float:
    """Largest margin of a row, the radius times the bound on entries: an eighth of the rounds.

    The last step, 2 / (T + 2) of the ball, then changes no margin by more than about 1/4. In a
    larger ball margins still oscillate when the rounds end; a smaller ball restricts the weights.
    Classes share one ball, so the largest reach is multiplied by the number of outputs.
    """
    rounds = auto_rounds(epsilon, delta, rows, columns, outputs)
    return max(SMALLEST_REACH, min(LARGEST_REACH * outputs, rounds / 8.0))


def auto_nonzeros(epsilon: float, delta: float, rows: int, columns: int) -> int:
    """Number of coefficients that a descent with one output keeps of very many columns.

    It grows with the root of the number of columns, beyond 65,536 of them with its power 3/4. Where
    there is signal, neither the rows nor epsilon matter: noise hides weak columns from a model of
    all columns, too. Where ``rows * mu`` is below the root of the number of
    columns, what the first steps say of single columns is mostly noise, and a cut would drop too
    much: the number then grows as the signal falls, up to all columns. The constants were chosen
    by benchmarks/few_coefficients.py.

    >>> auto_nonzeros(1.0, 1e-8, 15_000, 42_000), auto_nonzeros(1.0, 1e-8, 15_000, 1_300_000)
    (3280, 38500)
    >>> auto_nonzeros(0.1, 1e-8, 3_000, 42_000), auto_nonzeros(0.1, 1e-8, 300, 42_000)
    (10290, 42000)
    """
    root = math.sqrt(columns)
    signal = rows * mu_of(min(epsilon, 1e3), delta)
    kept = max(NONZEROS_PER_ROOT, math.sqrt(root)) * root * max(1.0, root / signal)
    return min(columns, math.ceil(kept))


def few_stand_out(epsilon: float, delta: float, rows: int, columns: int, n_nonzero: int) -> bool:
    """Whether there are enough rows, at this budget, to select informative columns.

    k draws share the budget, so theta of each draw is proportional to sqrt(rho / k). An informative
    column needs theta times its score above ln V, for V signed columns. The number of rows that a
    column separates is not public; the requirement that ``rows * sqrt(2 rho / k)`` is at least nine
    times ln V is measured.
    """
    signal = rows * math.sqrt(2.0 * rho_of(min(epsilon, 1e6), delta) / n_nonzero)
    return signal >= STANDS_OUT * math.log(2 * columns)


def is_table(
    epsilon: float, delta: float, rows: int, columns: int, outputs: int, of_numbers: bool
) -> bool:
    """Whether columns are so few, and rows so many, that standardising the columns pays.

    For numbers and for more than two classes it always does, up to a thousand columns. For two
    classes the noise of the columns' products must not exceed their own variance by far: below
    that, and for more columns, rows of length 1 lose less than estimates of each column would
    (measured on the sets of benchmarks/accuracy.py). Where rows are so few that columns can hardly
    be seen at all, it is a table again, whose fit returns the shares of the classes instead of
    noise.
    """
    if of_numbers or outputs > 1:
        return columns <= MOST_IN_TABLE
    signal = rows * mu_of(min(epsilon, 1e3), delta)
    hardly_seen = signal < LEAST_SIGNAL * math.sqrt(columns) and columns <= MOST_OF_TWO_CLASSES
    return hardly_seen or pays_for_two_classes(signal, columns)


def table_part(bounds: ColumnBounds | None, columns: int) -> Ints | None:
    """The columns with ranges, if the others are wide; None if no column is.

    Of more columns than a table has, those with one bound instead of a range are wide: they are
    hashed, or words of a text.
    """
    return None if bounds is None or columns <= MOST_IN_TABLE else bounds.paired
