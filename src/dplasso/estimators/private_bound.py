"""``x_bound="private"``: the bound on entries is itself released, for a share of the budget."""

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dplasso.base import checks
from dplasso.data import ColumnBounds, ColumnMatrix
from dplasso.data.row_medians import entries_of, row_medians
from dplasso.losses import Loss
from dplasso.mechanisms.private_quantile import exponents_of, losses_of, private_quantile
from dplasso.mechanisms.random_bits import RandomBits
from dplasso.privacy.calibration import Neighboring
from dplasso.privacy.statement import jsonable

PRIVATE = "private"
CANDIDATES: tuple[float, ...] = tuple(2.0 ** (k / 2.0) for k in range(-40, 41))
# Rows whose typical entry is below the bound. Low: what a selection can tell grows with how many
# rows are at the bound, while its noise is that of the bound (benchmarks/private_bound.py).
SHARE = Fraction(1, 10)


class Unbounded(NamedTuple):
    """A fit whose bound is still to be released: checked and planned, nothing has been drawn."""

    entries: sp.csc_array
    y: NDArray[Any]
    loss: Loss
    plan: Any
    bits: RandomBits


def is_asked(model: Any) -> bool:
    return isinstance(model.x_bound, str) and model.x_bound == PRIVATE


def check(model: Any) -> None:
    """Refuse what can be refused before the data are looked at."""
    if isinstance(model.x_bound, str) and not is_asked(model):
        raise ValueError(
            "x_bound must be a positive number, one per column, a mapping from feature names, or "
            f"'private', got {model.x_bound!r}"
        )
    if is_asked(model):
        checks.probability("bound_share", model.bound_share)


def prepare(model: Any, X: Any, y: Any, loss: Loss) -> Unbounded:
    """Check rows and labels, and fix what bound and fit will cost together."""
    if model.rows_ == "presence":
        raise ValueError(
            "x_bound='private' has no use where rows='presence', whose entries are 1; leave it "
            "out, or pass rows='as_is'"
        )
    if isinstance(X, ColumnMatrix) and X.stretch is not None:
        raise ValueError(
            "x_bound='private' is one bound for all columns, and X has one for each; leave it out"
        )
    entries = entries_of(X)
    loss.encode(y)
    plan = model._route.plan_for(model, entries.shape, loss, 1.0, model.bound_share)
    for candidate in (CANDIDATES[0], CANDIDATES[-1]):  # any of them may be released
        model._route.check_bound(model, entries.shape, loss, plan, candidate)
    return Unbounded(entries, y, loss, plan, model._random_bits())


def release(model: Any, task: Unbounded) -> Any:
    """Draw the bound; the fit is then one with this bound.

    Formal guarantees
    -----------------
    The bound keeps `BoundedRange` of the plan's ``bound_epsilon``: `private_quantile` of one number
    a row. The fit reads it as any public bound, and costs what was planned whatever it is.
    """
    return at(model, task, drawn(model, task))


def drawn(model: Any, task: Unbounded) -> float:
    """The bound itself."""
    numbers = row_medians(task.entries)
    if math.isinf(task.plan.bound_epsilon):
        losses = losses_of(numbers, CANDIDATES, SHARE)
        return CANDIDATES[losses.index(min(losses))]
    return CANDIDATES[private_quantile(*_asked(model, task, numbers), task.bits.generator)]


def exponents(model: Any, task: Unbounded) -> list[Fraction]:
    """Minus the logarithm of each candidate's probability, but for a constant: for audits."""
    return exponents_of(*_asked(model, task, row_medians(task.entries)))


def at(model: Any, task: Unbounded, bound: float) -> Any:
    """The fit with a bound that was released."""
    bounds, planned = ColumnBounds(bound, None), (task.plan, task.bits)
    return model._route.prepare(model, task.entries, task.y, task.loss, bounds, planned)


def _asked(
    model: Any, task: Unbounded, numbers: NDArray[np.float64]
) -> tuple[NDArray[np.float64], tuple[float, ...], Fraction, float, Neighboring]:
    """Of the quantile."""
    return numbers, CANDIDATES, SHARE, task.plan.bound_epsilon, model.neighboring


def state(model: Any, plan: Any, facts: dict[str, Any]) -> None:
    """Add the release of the bound to a statement's, where there was one."""
    if is_asked(model) and facts["releases"]:
        bound = {
            "what": "a bound on entries",
            "mechanism": "exponential mechanism over powers of sqrt(2)",
            "bounded_range": jsonable(plan.bound_epsilon),
        }
        facts["releases"].insert(0, bound)


def bound_of(model: Any) -> Any:
    """The bound that a fitted model was fitted with: declared, 1, or as released."""
    if is_asked(model):
        return float(model.privacy_["bounds"]["x_bound"]["value"])
    return 1.0 if model.x_bound is None else model.x_bound
