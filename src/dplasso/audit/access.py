"""All that the audit does to an estimator besides calling its public methods."""

from collections.abc import Callable
from typing import Any

from dplasso.mechanisms.random_bits import RandomBits


def check_parameters(model: Any) -> None:
    """Have an estimator reject parameters that a fit would reject."""
    model._check_parameters()


def bits_of(model: Any) -> RandomBits:
    """The random bits that a fit of the estimator would draw from."""
    found: RandomBits = model._random_bits()
    return found


def with_bits(model: Any, bits: Callable[[], RandomBits]) -> Any:
    """The estimator, which draws from these bits and takes them for its own."""
    model._random_bits = bits
    return model


def started(model: Any, X: Any, y: Any) -> Any:
    """A fit of a model up to its first draw: checked, planned, rows held."""
    check_parameters(model)
    return model._prepare(X, y)


def solver_of(estimator: Any, rows: int, columns: int) -> str:
    """The solver of a fit of so many rows, unless others are declared, and columns."""
    classes = getattr(estimator, "classes", None)
    outputs = 1 if classes is None or len(classes) == 2 else len(classes)
    return str(estimator._chosen_solver((estimator.n_rows or rows, columns), outputs)[0])


def n_nonzero_of(model: Any) -> int | None:
    """The declared number of nonzero coefficients."""
    found: int | None = model._n_nonzero
    return found


def loss_of(model: Any, y: Any) -> Any:
    """The loss that a fit of these labels would minimise."""
    return model._make_loss(y)


def weights_of(model: Any) -> Any:
    """The weights of a fitted model as they are held: sparse, outputs x columns."""
    return model._weights
