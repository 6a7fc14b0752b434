"""What every role of a column states: its blanks, its features, and their ranges."""

from collections.abc import Hashable
from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar

import numpy as np

from dplasso.base.arrays import Floats, Ints

# Entries of some rows: their rows, their features within the column, and their values.
Part = tuple[Ints, Ints, Floats]
Range = tuple[float, float]


@dataclass(frozen=True)
class Role:
    """How one column of a table is treated. All of it is public."""

    kind: ClassVar[str]  # the role's name in a schema file
    makes_features: ClassVar[bool] = False
    # Whether features have a bound of 1 and no range, which tells solvers that there are many.
    wide: ClassVar[bool] = False

    @property
    def size(self) -> int:
        """Number of features."""
        return 0

    @property
    def blanks(self) -> tuple[str, ...]:
        """Public facts that are needed and not stated yet."""
        return ()

    @property
    def numbers(self) -> dict[int, Range]:
        """The features that are numbers, with their ranges; all others are 0 or 1."""
        return {}

    @property
    def naming(self) -> Hashable:
        """What the names of the features depend on, apart from the name of the column."""
        return self.kind, self.size

    @property
    def words(self) -> str:
        """The role as people read it."""
        return self.kind

    def feature(self, column: str, place: int) -> str:
        """The name of a feature."""
        raise IndexError(f"column {column!r} has no feature {place}")

    def settings(self) -> dict[str, Any]:
        """Settings that differ from their defaults, as values that JSON and TOML have."""
        found = {}
        for own in fields(self):
            value = getattr(self, own.name)
            default = own.default_factory() if own.default_factory is not MISSING else own.default
            if value != default:
                found[own.name] = list(value) if isinstance(value, tuple) else value
        return found


def flagged(flags: Any, feature: int) -> Part:
    """A feature that is 1 in the flagged rows."""
    rows = np.flatnonzero(flags)
    return rows, np.full(len(rows), feature), np.ones(len(rows))


def placed(values: Floats, feature: int, ends: Range, scaled: bool) -> Part:
    """A feature of numbers within its range, which becomes [-1, 1] where it is scaled."""
    low, high = ends
    if scaled:
        middle, half = middle_of(low, high), high / 2 - low / 2
        values = np.clip((values - middle) / half, -1.0, 1.0) if half > 0 else 0.0 * values
    rows = np.flatnonzero(values)
    return rows, np.full(len(rows), feature), values[rows]


def middle_of(low: float, high: float) -> float:
    """The middle of a range, which does not overflow."""
    return low / 2 + high / 2


def checked_choice(name: str, value: Any, known: tuple[Any, ...]) -> None:
    """Reject a setting that is none of the known values."""
    if value not in known:
        shown = " or ".join(repr(one) for one in known if one is not None)
        raise ValueError(f"{name} must be {shown}, or left out")


def checked_number(name: str, value: Any) -> float:
    """A finite number, as a float."""
    plain = isinstance(value, int | float | np.integer | np.floating)
    if isinstance(value, bool) or not plain or not abs(float(value)) < np.inf:
        raise ValueError(f"{name} must be a finite number")
    return float(value)


def checked_range(low: Any, high: Any) -> tuple[float | None, float | None]:
    """The ends of a range, of which each may be blank."""
    low = None if low is None else checked_number("low", low)
    high = None if high is None else checked_number("high", high)
    if low is not None and high is not None and (low > high or low == high == 0):
        raise ValueError("low must be below high; exchange or correct them")
    return low, high


def checked_buckets(value: Any) -> None:
    """Reject a number of buckets that is not a positive whole number."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError("buckets must be a positive whole number")


def checked_texts(name: str, values: Any) -> tuple[str, ...]:
    """Different texts, to the letter; a number counts as the text that its cell has."""
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise ValueError(f'{name} must be a list of texts, such as ["no", "yes"]')
    found = tuple(_text(name, value) for value in values)
    if len(set(found)) < len(found):
        raise ValueError(f"{name} must be different texts; remove the one that is there twice")
    return found


def _text(name: str, value: Any) -> str:
    if isinstance(value, str):
        check_unicode(name, value)
        return str(value)
    if isinstance(value, bool | np.bool_) or not isinstance(
        value, int | float | np.integer | np.floating
    ):
        raise ValueError(f"{name} must be texts or numbers, as the cells have them; write texts")
    number = value.item() if isinstance(value, np.generic) else value
    return str(int(number)) if float(number).is_integer() else repr(float(number))


def check_unicode(name: str, text: str) -> None:
    """Reject a text that no file can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name} must be valid Unicode; correct the text") from None
