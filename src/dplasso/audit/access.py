"""What the audit needs from an estimator in addition to fitting it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dplasso.data import ColumnBounds
from dplasso.fitting import registry
from dplasso.fitting.auto_rules import table_part
from dplasso.mechanisms.random_bits import RandomBits


def bits_of(model: Any) -> RandomBits:
    """The random bits from which a fit of the estimator would draw."""
    return model._random_bits()


def with_bits(model: Any, bits: Callable[[], RandomBits]) -> Any:
    """The estimator, changed to draw from these bits as if they were its own."""
    model._random_bits = bits
    return model


def solver_of(estimator: Any, rows: int, columns: int) -> str:
    """The solver of a fit of this size; a declared ``n_rows`` takes precedence over ``rows``."""
    if estimator.solver != registry.AUTO:
        return str(estimator.solver)
    classes, given = getattr(estimator, "classes", None), estimator.x_bound
    given = list(given.values()) if isinstance(given, Mapping) else given
    ranges, own_bounds = None, False
    if isinstance(given, Sequence) and not isinstance(given, str):
        bounds = ColumnBounds.of(given, len(given))
        ranges, own_bounds = table_part(bounds, len(given)), bounds.differ
        columns = columns if ranges is None else len(given)
    name, _ = registry.auto_solver(
        float(estimator.epsilon),
        float(estimator.delta),
        rows_counted(estimator, rows) / estimator.rows_per_person,
        columns,
        outputs=1 if classes is None or len(classes) == 2 else len(classes),
        n_nonzero=n_nonzero_of(estimator),
        of_numbers=classes is None and not hasattr(estimator, "classes"),
        in_ball=estimator.in_ball,
        n_ranges=0 if ranges is None else len(ranges),
        own_bounds=own_bounds,
    )
    return name


def rows_counted(estimator: Any, rows: int) -> int:
    """What all rows count as: of people, no more than declared people may count as."""
    declared = int(estimator.n_rows or rows)
    if estimator.n_people is None:
        return declared
    most = int(estimator.rows_per_person) * int(estimator.n_people)
    return most if estimator.rows_per_person == 1 else min(declared, most)


def n_nonzero_of(estimator: Any) -> int | None:
    """The public number of coefficients to keep; None if there is none or it is a private count.

    "auto" keeps all of the few columns that an audit makes.
    """
    found = estimator.n_nonzero
    return found if isinstance(found, int) else None
