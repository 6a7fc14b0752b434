"""Rules behind what is "auto", radius, max_iter, solver and rows: public facts in, a choice out.

Nothing here may see the data. ``rows`` is the declared number of rows, or the real one treated as
public; the privacy statement of a fit says which. The constants were chosen on the sets of
``benchmarks/utility.py``, which compares the rules with a grid tuned on the test rows; those of
`auto_solver` by the figures in ``benchmarks/results/gradient_ideas.txt``.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dplasso.privacy.zcdp import rho_of
from dplasso.solvers.gradient.plan import NARROW_COLUMNS

FEWEST_ROUNDS, MOST_ROUNDS = 3, 1000
SMALLEST_REACH, LARGEST_REACH = 0.5, 30.0  # the latter an output
FEW_NONZEROS = 4  # columns that are selected before they are fitted, at most
STANDS_OUT = 9.0  # what rows must say, in units of what a selection needs
FEW_ROWS = 0.1  # a `weakest_signal` above which little can be found


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
    told = rows * math.sqrt(2.0 * rho_of(min(epsilon, 1e6), delta))
    rounds = math.ceil(told / (4.0 * math.log(vertices)))
    return max(FEWEST_ROUNDS, min(MOST_ROUNDS, rounds))


def auto_reach(epsilon: float, delta: float, rows: int, columns: int, outputs: int = 1) -> float:
    """Largest margin of a row, the radius times the bound on entries: an eighth of the rounds.

    The last step, 2 / (T + 2) of the ball, then moves no margin by more than about 1/4. In a larger
    ball margins still swing when the rounds end; a smaller one holds the weights back. Classes
    share one ball, so what is most for one output is most for each.
    """
    rounds = auto_rounds(epsilon, delta, rows, columns, outputs)
    return max(SMALLEST_REACH, min(LARGEST_REACH * outputs, rounds / 8.0))


def auto_solver(
    epsilon: float,
    delta: float,
    rows: int,
    columns: int,
    outputs: int = 1,
    n_nonzero: int | None = None,
) -> tuple[str, str]:
    """The solver behind ``solver="auto"``, and why.

    The descent is the more accurate one, but for very few nonzeros in many columns: it cuts by what
    its first, noisiest steps showed of each column. The exponential mechanism does better there,
    as long as `few_stand_out`. For k of 5 to 10 on, what was chosen before anything was fitted is
    the worse choice (benchmarks/results/gradient_ideas.txt).

    >>> auto_solver(1.0, 1e-6, 15_000, 42_000)[0], auto_solver(math.inf, 1e-6, 15_000, 42_000)[0]
    ('gradient', 'frank_wolfe')
    >>> auto_solver(1.0, 1e-6, 15_000, 42_000, n_nonzero=3)[0]
    'select'
    """
    if math.isinf(epsilon):
        return "frank_wolfe", "public rule: without privacy the LASSO itself is solved"
    wide = columns > NARROW_COLUMNS and outputs == 1
    if n_nonzero is None or n_nonzero > FEW_NONZEROS or not wide:
        return "gradient", "public rule: the more accurate one"
    if not few_stand_out(epsilon, delta, rows, columns, n_nonzero):
        return "gradient", "public rule: of so few rows a selection would be all noise"
    return "select", "public rule: so few of so many columns are best selected first, then fitted"


def few_stand_out(epsilon: float, delta: float, rows: int, columns: int, n_nonzero: int) -> bool:
    """Whether rows can say enough, at this budget, for telling columns to be selected.

    k draws share their budget, so that each has theta as sqrt(rho / k), and a telling column needs
    theta times its score above ln V, V signed columns. How many rows a column tells apart is not
    public; that ``rows * sqrt(2 rho / k)`` should be nine times ln V is measured.
    """
    told = rows * math.sqrt(2.0 * rho_of(min(epsilon, 1e6), delta) / n_nonzero)
    return told >= STANDS_OUT * math.log(2 * columns)


def auto_rows(solver: str, columns: int) -> str:
    """The map of rows behind ``rows="auto"``.

    Wide data are mostly text: which words there are says more than how often. The columns of
    narrower data may be numbers, of which presence would leave nothing. Whether a matrix is dense
    or sparse, in memory or in a store does not count: a loader may have gone by the data.

    >>> auto_rows("gradient", 50_000), auto_rows("gradient", 60), auto_rows("frank_wolfe", 50_000)
    ('presence', 'as_is', 'as_is')
    """
    return "presence" if solver != "frank_wolfe" and columns > NARROW_COLUMNS else "as_is"


def weakest_signal(
    theta: float, x_bound: float, rows: int, columns: int, classes: int = 2
) -> float:
    """What a feature must mark, as a share of the rows, to be as likely a first choice as all the
    others together: rows with it (at the bound) in one class, less those in the others.

    A first score of ``rows * share * x_bound * (1 - 1 / classes)`` then has ``theta`` times it
    equal to the log of the number of vertices. Above 1 no feature can do that.

    >>> round(weakest_signal(0.02, 1.0, 15_000, 42_000), 3)
    0.076
    """
    vertices = 2 * (1 if classes == 2 else classes) * (columns + 1)
    return math.log(vertices) / (theta * rows * x_bound * (1.0 - 1.0 / classes))


def weakest_signal_of(model: Any) -> float | None:
    """`weakest_signal` of a fitted classifier, from what its statement declares.

    None where there is no such share: for a regressor, without privacy, or where no number of rows
    was declared or used.

    >>> from dplasso import PrivateLassoClassifier
    >>> public = {"classes": [0, 1], "n_rows": 20_000, "x_bound": 1.0}
    >>> model = PrivateLassoClassifier(**public, max_iter=40, radius=5.0)
    >>> round(weakest_signal_of(model.fit([[0.0], [1.0]], [0, 1])), 3)
    0.004
    """
    statement = model.privacy_
    rows = statement["public"]["n_rows"]["value"]
    if not statement["releases"] or rows is None or not hasattr(model, "classes_"):
        return None
    if "theta" not in statement["releases"][-1]:
        return None
    theta = float(statement["releases"][-1]["theta"])
    return weakest_signal(
        theta, _largest_bound(model), rows, model.n_features_in_, len(model.classes_)
    )


def _largest_bound(model: Any) -> float:
    """The bound that all columns are stretched to; the statement has it in words if they differ."""
    stated = model.privacy_["bounds"]["x_bound"]["value"]
    if isinstance(stated, int | float):
        return float(stated)
    given = model.x_bound
    return float(np.max(list(given.values()) if isinstance(given, Mapping) else given))
