"""Checks of the numbers that privacy accounts use; each check returns the number it accepts."""

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import NoReturn

from dplasso.base.wording import ParameterError, Setting


def budget(name: str, value: object) -> float:
    """A cost: any number from 0 (nothing is revealed) to math.inf (no privacy)."""
    number = _as_float(value)
    if not number >= 0.0:
        _refuse(name, value, "a number of at least 0", "infinity is no privacy")
    return number


def target(name: str, value: object) -> float:
    """A cost to calibrate to: a number above 0, math.inf included."""
    number = _as_float(value)
    if not number > 0.0:
        _refuse(name, value, "a number above 0", "1.0 is a common choice")
    return number


def bound(name: str, value: object) -> float:
    """A public bound on the data: a finite number above 0."""
    number = _as_float(value)
    if not 0.0 < number < math.inf:
        _refuse(name, value, "a finite number above 0", "declare a bound known without the data")
    return number


def probability(name: str, value: object) -> float:
    """A probability strictly between 0 and 1."""
    number = _as_float(value)
    if not 0.0 < number < 1.0:
        _refuse(name, value, "a number strictly between 0 and 1", "1e-6 is a common choice")
    return number


def count(name: str, value: object, least: int, most: float = math.inf) -> int:
    """A whole number from `least` to `most`; True and False are rejected."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        _refuse(name, value, f"an integer of at least {least}", "convert it with int()")
    if int(value) < least:
        _refuse(name, value, f"an integer of at least {least}", "give a larger one")
    if int(value) > most:
        _refuse(name, value, f"an integer of at most {most:,}", "give a smaller one")
    return int(value)


def choice(name: str, value: object, known: Sequence[str]) -> None:
    """Reject a value that is not one of the names ``known``."""
    if value not in known:
        raise ParameterError(
            "{parameter} must be one of {known}, got {value!r}",
            parameter=Setting(name),
            known=", ".join(known),
            value=value,
        )


def _as_float(value: object) -> float:
    """The number as a float, and NaN for anything else: every check above rejects NaN."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan


def _refuse(name: str, value: object, wanted: str, remedy: str) -> NoReturn:
    raise ParameterError(
        "{parameter} must be {wanted}, got {value!r} ({kind}): {remedy}.",
        parameter=Setting(name),
        wanted=wanted,
        value=value,
        kind=type(value).__name__,
        remedy=remedy,
    )
