"""Errors that hold no data: none of them carries an error of another library that quotes rows.

``raise ... from None`` only hides the original error. It remains attached, and error trackers and
debuggers show it.
"""

from collections.abc import Callable
from typing import NoReturn, TypeVar

Found = TypeVar("Found")


def raise_alone(error: Exception) -> NoReturn:
    """Raise an error that does not carry the one that is being handled.

    >>> try:
    ...     try:
    ...         float("a private text")
    ...     except ValueError:
    ...         raise_alone(ValueError("this is no number"))
    ... except ValueError as error:
    ...     print(error, error.__context__, error.__cause__)
    this is no number None None
    """
    try:
        raise error
    finally:
        error.__cause__ = error.__context__ = None


def without_sizes(what: str, work: Callable[[], Found]) -> Found:
    """Return the result of ``work``; an error for lack of memory then tells no number of rows.

    numpy's own message has the shape of the array.
    """
    try:
        return work()
    except MemoryError:
        raise_alone(MemoryError(f"{what} needs more memory than there is"))
