"""Public facts that were left out: reported once per fit, before it is charged.

A bound that is not declared is 1, whatever the data are: that tells nothing of them, but where
entries or labels are larger, little is learned. A number of rows that is not declared is read from
the data. Strict mode refuses both.
"""

import math
from collections.abc import Iterable
from typing import Any

from dplasso.base.wording import Message, Setting
from dplasso.privacy import leaks
from dplasso.privacy.leaks import UndeclaredBoundWarning

X_BOUND, Y_BOUND = "x_bound", "y_bound"
_BOUNDS = {
    X_BOUND: Message(
        "{x_bound} is not declared, and entries beyond 1 are cut to 1; pass {x_bound}, a bound on "
        "entries that is known without the data, or {private} to spend budget on one",
        private=Setting(X_BOUND, "private"),
    ),
    Y_BOUND: Message(
        "{y_bound} is not declared, and labels beyond 1 are cut to 1; pass {y_bound}, a bound on "
        "labels that is known without the data"
    ),
}
_ROWS = Message(
    "the number of rows is not declared, and the rules for {solver}, {radius}, {max_iter} and "
    "steps read it from the data; pass {n_rows}"
)


def report(model: Any) -> None:
    """What a fit that is prepared leaves out and uses: a warning each, or an error."""
    report_bounds(bounds_left_out(model), private=not math.isinf(model.epsilon))
    if _reads_rows(model):
        leaks.report(_ROWS)


def bounds_left_out(model: Any) -> list[str]:
    """Bounds that a prepared fit uses and that are 1 because they were left out.

    Where entries count as present or absent (``rows="presence"``) they need no bound.
    """
    needs = {X_BOUND: model.rows_ != "presence", Y_BOUND: hasattr(model, Y_BOUND)}
    return [name for name in _BOUNDS if needs[name] and getattr(model, name) is None]


def report_bounds(names: Iterable[str], *, private: bool) -> None:
    """Warn of bounds; without privacy, strict mode has nothing against them."""
    for name in names:
        if private:
            leaks.report(_BOUNDS[name], category=UndeclaredBoundWarning)
        else:
            leaks.warn_caller(_BOUNDS[name], UndeclaredBoundWarning)


def bound_or_one(model: Any, name: str) -> Any:
    """A bound as it was declared; 1 where it was not."""
    bound = getattr(model, name)
    return 1.0 if bound is None else bound


def _reads_rows(model: Any) -> bool:
    """Whether rules use a number of rows that neither the model nor the relation makes public."""
    if model.n_rows is not None or math.isinf(model.epsilon) or model.neighboring == "replace_one":
        return False
    return model.solver != "frank_wolfe" or "auto" in (model.radius, model.max_iter)
