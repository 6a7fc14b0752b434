"""What the audit needs from an estimator in addition to fitting it."""

from collections.abc import Callable
from typing import Any

from dplasso.fitting import fitters
from dplasso.mechanisms.random_bits import RandomBits


def bits_of(model: Any) -> RandomBits:
    """The random bits from which a fit of the estimator would draw."""
    found: RandomBits = model._random_bits()
    return found


def with_bits(model: Any, bits: Callable[[], RandomBits]) -> Any:
    """The estimator, changed to draw from these bits as if they were its own."""
    model._random_bits = bits
    return model


def solver_of(estimator: Any, rows: int, columns: int) -> str:
    """The solver of a fit of this size; a declared ``n_rows`` takes precedence over ``rows``."""
    classes = getattr(estimator, "classes", None)
    name, _ = fitters.choose(
        estimator.solver,
        epsilon=float(estimator.epsilon),
        delta=float(estimator.delta),
        n_rows=estimator.n_rows or rows,
        n_features=columns,
        outputs=1 if classes is None or len(classes) == 2 else len(classes),
        n_nonzero=n_nonzero_of(estimator),
    )
    return name


def n_nonzero_of(estimator: Any) -> int | None:
    """The public number of coefficients to keep, also if it is given as ``sparsify=k``."""
    given = estimator.get_params()
    found = given["sparsify"] if given["n_nonzero"] is None else given["n_nonzero"]
    return found if isinstance(found, int) else None
