"""Rules behind the "auto" of radius, max_iter and solver: public facts in, a number out.

Nothing here may see the data. ``rows`` is the declared number of rows, or the real one treated as
public; the privacy statement of a fit says which. The constants were chosen on the sets of
``benchmarks/utility.py``, which compares the rules with a grid tuned on the test rows; those of
`few_stand_out` by the figures in ``benchmarks/results/gradient_ideas.txt``.
"""

import math

from dplasso.privacy.zcdp import rho_of

FEWEST_ROUNDS, MOST_ROUNDS = 3, 1000
SMALLEST_REACH, LARGEST_REACH = 0.5, 30.0  # the latter an output
FEW_NONZEROS = 4  # columns that are selected before they are fitted, at most
STANDS_OUT = 9.0  # what rows must say, in units of what a selection needs


def auto_rounds(epsilon: float, delta: float, rows: int, columns: int, outputs: int = 1) -> int:
    """Rounds: few enough that the vertices they select still stand out of the noise.

    T rounds share theta = sqrt(2 rho / T), for unit bounds, and a score stands out among V vertices
    once theta times the score exceeds about ln V. So ``rows * sqrt(2 rho) / ln V``, what all rows
    can say in units of what a selection needs, sets the rounds. That they grow in proportion to it,
    and the factor 1/4, are measured, not derived.

    >>> auto_rounds(1.0, 1e-6, 15_000, 42_000), auto_rounds(0.1, 1e-6, 15_000, 42_000)
    (73, 9)
    """
    vertices = 2 * outputs * (columns + 1)
    signal = rows * math.sqrt(2.0 * rho_of(min(epsilon, 1e6), delta))
    rounds = math.ceil(signal / (4.0 * math.log(vertices)))
    return max(FEWEST_ROUNDS, min(MOST_ROUNDS, rounds))


def auto_reach(epsilon: float, delta: float, rows: int, columns: int, outputs: int = 1) -> float:
    """Largest margin of a row, the radius times the bound on entries: an eighth of the rounds.

    The last step, 2 / (T + 2) of the ball, then moves no margin by more than about 1/4. In a larger
    ball margins still swing when the rounds end; a smaller one holds the weights back. Classes
    share one ball, so what is most for one output is most for each.
    """
    rounds = auto_rounds(epsilon, delta, rows, columns, outputs)
    return max(SMALLEST_REACH, min(LARGEST_REACH * outputs, rounds / 8.0))


def few_stand_out(epsilon: float, delta: float, rows: int, columns: int, n_nonzero: int) -> bool:
    """Whether rows can say enough, at this budget, for informative columns to be selected.

    k draws share their budget, so that each has a theta in proportion to sqrt(rho / k). An
    informative column needs theta times its score above ln V, for V signed columns. How many rows a
    column separates is not public; that ``rows * sqrt(2 rho / k)`` should be nine times ln V is
    measured.
    """
    signal = rows * math.sqrt(2.0 * rho_of(min(epsilon, 1e6), delta) / n_nonzero)
    return signal >= STANDS_OUT * math.log(2 * columns)
