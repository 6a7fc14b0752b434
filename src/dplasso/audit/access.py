"""What the audit asks of an estimator besides fitting it."""

from collections.abc import Callable
from typing import Any

from dplasso.fitting import fitters
from dplasso.mechanisms.random_bits import RandomBits


def bits_of(model: Any) -> RandomBits:
    """The random bits that a fit of the estimator would draw from."""
    found: RandomBits = model._random_bits()
    return found


def with_bits(model: Any, bits: Callable[[], RandomBits]) -> Any:
    """The estimator, which draws from these bits and takes them for its own."""
    model._random_bits = bits
    return model


def solver_of(estimator: Any, rows: int, columns: int) -> str:
    """The solver of a fit of so many rows, unless others are declared, and columns."""
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
    """The public number of coefficients to keep; ``sparsify=k`` is the same."""
    given = estimator.get_params()
    found = given["sparsify"] if given["n_nonzero"] is None else given["n_nonzero"]
    return found if isinstance(found, int) else None
