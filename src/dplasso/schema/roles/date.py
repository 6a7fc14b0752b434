"""Columns of dates and times: year, month, weekday, hour, and a trend."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dplasso.base.arrays import Floats
from dplasso.schema.roles.base import Part, Range, Role, checked_choice, flagged, middle_of, placed
from dplasso.schema.roles.category import Coded

# Features that are one indicator per value: how many there are, and the first.
_CYCLES = {"month": (12, 1), "weekday": (7, 0), "hour": (24, 0)}
_NUMBERS = ("year", "trend")  # features that need a start and an end
FEATURES = ("year", "trend", *_CYCLES)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True)
class Date(Role):
    """A column of dates, with or without a time of day.

    Parameters
    ----------
    features : list of str, default=["trend", "month", "weekday"]
        "year", a number; "trend", the share of the time from ``start`` to ``end``; "month",
        "weekday" and "hour", one indicator per month, day of the week and hour.
    start, end : date or str
        The public period, for "year" and "trend"; dates beyond it are clipped.
    format : str, default=None
        How dates are written, as for ``datetime.strptime``: "%d.%m.%Y". By default as in ISO 8601:
        2020-01-31, or 2020-01-31 14:30.
    missing : "indicator", default=None
        Adds a feature that is 1 in rows whose cell is missing. A missing date is in the middle of
        the period, and in no month, weekday or hour.

    Examples
    --------
    >>> visit = Date(["trend", "weekday"], start="2020-01-01", end="2024-12-31")
    >>> visit.size, visit.feature("visit", 0), visit.feature("visit", 1)
    (8, 'visit (trend)', 'visit on Monday')
    """

    kind: ClassVar[str] = "date"
    makes_features: ClassVar[bool] = True
    features: Sequence[str] = ("trend", "month", "weekday")
    start: str | None = None
    end: str | None = None
    format: str | None = None
    missing: str | None = None

    def __post_init__(self) -> None:
        wanted = "features must be a list of different ones among " + ", ".join(FEATURES)
        if isinstance(self.features, str) or not hasattr(self.features, "__iter__"):
            raise ValueError(wanted)
        features = tuple(self.features)
        if not features or set(features) - set(FEATURES) or len(set(features)) < len(features):
            raise ValueError(wanted)
        object.__setattr__(self, "features", features)
        for name in ("start", "end"):
            object.__setattr__(self, name, _checked_day(name, getattr(self, name)))
        if self.start is not None and self.end is not None and not self._start < self._end:
            raise ValueError("start must be before end; exchange or correct them")
        if self.format is not None and (not isinstance(self.format, str) or "%" not in self.format):
            raise ValueError('format must be one of strptime, such as "%d.%m.%Y"')
        checked_choice("missing", self.missing, ("indicator", None))

    @property
    def blanks(self) -> tuple[str, ...]:
        if not set(self.features) & set(_NUMBERS):
            return ()
        return tuple(name for name in ("start", "end") if getattr(self, name) is None)

    @cached_property
    def _start(self) -> datetime:
        return datetime.fromisoformat(str(self.start))

    @cached_property
    def _end(self) -> datetime:
        return datetime.fromisoformat(str(self.end))

    @cached_property
    def _firsts(self) -> list[int]:
        """The first place of every feature, and the number of all places."""
        sizes = [_CYCLES.get(name, (1, 0))[0] for name in self.features]
        return [0, *np.cumsum(sizes).tolist()]

    @property
    def size(self) -> int:
        return self._firsts[-1] + (self.missing is not None)

    @property
    def numbers(self) -> dict[int, Range]:
        found: dict[int, Range] = {}
        for name, first in zip(self.features, self._firsts, strict=False):
            if name == "year":
                found[first] = float(self._start.year), float(self._end.year)
            elif name == "trend":
                found[first] = 0.0, 1.0
        return found

    @property
    def naming(self) -> Hashable:
        return self.kind, self.features, self.missing

    @property
    def words(self) -> str:
        more = "" if self.missing is None else "; and whether it is missing"
        period = "" if self.start is None else f" from {self.start} to {self.end}"
        return f"date{period}: {', '.join(self.features)}{more}"

    def feature(self, column: str, place: int) -> str:
        if place == self._firsts[-1]:
            return f"{column} is missing"
        at = max(k for k, first in enumerate(self._firsts[:-1]) if first <= place)
        name = self.features[at]
        if name not in _CYCLES:
            return f"{column} ({name})"
        value = place - self._firsts[at] + _CYCLES[name][1]
        return f"{column} on {_DAYS[value]}" if name == "weekday" else f"{column} in {name} {value}"

    def moment(self, text: str, written: bool) -> datetime | None:
        """The moment that a cell states; None if it states none.

        ``written`` says whether the cell was text, which follows ``format``; the text of a cell
        that was a date follows ISO 8601.
        """
        try:
            if self.format is not None and written:
                found = datetime.strptime(text.strip(), self.format)
            else:
                found = datetime.fromisoformat(text.strip())
            return found if found.tzinfo is None else found.astimezone(UTC).replace(tzinfo=None)
        except (ValueError, OverflowError):
            return None

    def entries(self, cells: Coded, moments: Sequence[datetime], scaled: bool) -> list[Part]:
        """The entries of the features; ``moments`` are those of the distinct texts."""
        absent = cells.codes < 0
        present = np.flatnonzero(~absent)
        parts = []
        for name, first in zip(self.features, self._firsts, strict=False):
            own = np.array([self._value(name, moment) for moment in moments] + [0.0], np.float64)
            values = own[cells.codes]
            if name in _CYCLES:
                places = values[present].astype(np.int64) - _CYCLES[name][1] + first
                parts.append((present, places, np.ones(len(present))))
                continue
            ends = self.numbers[first]
            numbers: Floats = np.clip(values, *ends)
            numbers[absent] = middle_of(*ends)
            parts.append(placed(numbers, first, ends, scaled))
        if self.missing is not None:
            parts.append(flagged(absent, self._firsts[-1]))
        return parts

    def _value(self, name: str, moment: datetime) -> float:
        if name == "weekday":
            return float(moment.weekday())
        if name == "trend":
            return (moment - self._start) / (self._end - self._start)
        return float(getattr(moment, name))


def _checked_day(name: str, value: Any) -> str | None:
    """A date or a moment as ISO text."""
    if value is None:
        return None
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else value
        if isinstance(found, datetime) and found.tzinfo is None:
            midnight = not (found.hour or found.minute or found.second or found.microsecond)
            return found.date().isoformat() if midnight else found.isoformat(" ")
        if isinstance(found, date) and not isinstance(found, datetime):
            return found.isoformat()
    except ValueError:
        pass
    raise ValueError(f"{name} must be a date without a time zone, such as 2020-01-31")
