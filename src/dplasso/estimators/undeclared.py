"""Report public facts that were not declared, once per fit, before the fit is charged.

A bound that is not declared is 1, whatever the data are, unless the fit releases it. This reveals
nothing about the data, but if entries or labels are larger, little is learned. A number of rows
that is not declared is read from the data. Strict mode rejects both.
"""

import math
from collections.abc import Iterable
from typing import Any

from dplasso.base.wording import Message, Setting
from dplasso.estimators.declared import declared
from dplasso.fitting.plan import Plan
from dplasso.privacy import leaks
from dplasso.privacy.leaks import UndeclaredBoundWarning

X_BOUND, Y_BOUND = "x_bound", "y_bound"
NOT_DECLARED = "not declared, 1 by default"  # in the words of the privacy statement
_BOUNDS = {
    X_BOUND: Message(
        "{x_bound} is not declared, and entries beyond 1 are cut to 1; pass {x_bound}, a bound on "
        "entries that is known without the data (for a table, the low and the high end of each "
        "column), or {private} to spend budget on one",
        private=Setting(X_BOUND, "private"),
    ),
    Y_BOUND: Message(
        "{y_bound} is not declared, and labels beyond 1 are cut to 1; pass {y_bound}, a bound on "
        "labels that is known without the data, or their low and high end"
    ),
}
_ROWS = Message(
    "the number of rows is not declared, and the rules for {solver}, {radius}, {max_iter}, steps "
    "and probabilities read it from the data; pass {n_rows}"
)
_PEOPLE = Message(
    "the number of people, or that of rows if {rows_per_person} is above 1, is not declared, and "
    "the rules for {solver}, {radius}, {max_iter}, steps and probabilities read it from the data; "
    "pass {n_people}, and {n_rows} with it"
)


def report(model: object, plan: Plan) -> None:
    """Warn about every fact that the plan uses without a declaration; strict mode rejects it."""
    report_bounds(bounds_left_out(model, plan), private=not math.isinf(plan.epsilon))
    if plan.reads_row_count:
        leaks.report(_PEOPLE if plan.unit.is_person else _ROWS)


def bounds_left_out(model: object, plan: Plan) -> list[str]:
    """Return the bounds that a planned fit uses and that are 1 because they are not declared."""
    is_one = plan.needs_x_bound and plan.request.x_bound_source == NOT_DECLARED
    used = {X_BOUND: is_one, Y_BOUND: hasattr(model, Y_BOUND)}
    return [name for name in _BOUNDS if used[name] and declared(model, name) is None]


def report_bounds(names: Iterable[str], *, private: bool) -> None:
    """Warn about undeclared bounds; without privacy, strict mode accepts them."""
    for name in names:
        if private:
            leaks.report(_BOUNDS[name], category=UndeclaredBoundWarning)
        else:
            leaks.warn_caller(_BOUNDS[name], UndeclaredBoundWarning)


def bound_or_one(model: object, name: str) -> Any:
    """Return a declared bound, or 1 if it is not declared."""
    bound = declared(model, name)
    return 1.0 if bound is None else bound
