"""What a check is, and what it is given to work with."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from dplasso.audit.subject import Subject
from dplasso.audit.verdict import Verdict
from dplasso.mechanisms.random_bits import RandomBits

_PILOT = 24  # runs that are timed, and thrown away, before the number of runs is fixed
_PILOT_SECONDS = 1.0
_FEWEST = 100

S = TypeVar("S", bound=Subject)


@dataclass(frozen=True)
class Session(Generic[S]):
    """One check of one subject.

    ``rng`` makes the data, ``bits`` the noise of the fits; ``error`` is the chance of a false
    alarm that each statistical test may have, ``seconds`` what all runs of the check may take in a
    thorough audit.
    """

    subject: S
    rng: np.random.Generator
    bits: RandomBits
    error: float
    seconds: float
    thorough: bool
    tell: Callable[[float], None]

    def runs(self, quick: int, pilot: Callable[[int], object]) -> int:
        """How many runs to make: fixed here, before any of them is made.

        In quick mode ``quick``, whatever the clock says: what a quick audit can find does not
        depend on the machine. In thorough mode all that time allows; the runs that are timed are
        not used.
        """
        if not self.thorough:
            return quick
        pilot(1)  # the first one may compile
        start = time.monotonic()
        timed = 0
        while timed < _PILOT and time.monotonic() - start < _PILOT_SECONDS:
            pilot(_PILOT // 4)
            timed += _PILOT // 4
        each = max((time.monotonic() - start) / timed, 1e-7)
        return max(_FEWEST, int(self.seconds / each))


class Check(ABC, Generic[S]):
    """A family of tests with one question. To audit more, write another and put it in `CHECKS`.

    ``tests`` is how many of its verdicts for one subject are left to chance, which is how the
    audit's chance of a false alarm is shared out. ``share`` is what part of the time it asks for,
    beside the others. A check that is ``once`` is made for the first subject only. ``of`` is the
    kind of subjects it knows how to ask.
    """

    name: str
    tests: int = 0
    share: float = 0.0
    once: bool = False
    of: type[Any] = Subject

    def asked_of(self, subject: Subject) -> "Check[Any] | None":
        """The check to make of this subject: itself, or none where there is nothing to check."""
        return self if isinstance(subject, self.of) else None

    @abstractmethod
    def run(self, session: Session[S]) -> Iterator[Verdict]:
        """Make the tests."""

    def doubted(
        self, session: Session[S], p_values: Mapping[str, float], runs: int, **details: Any
    ) -> Iterator[Verdict]:
        """Verdicts of tests that are left to chance: too small a p-value alarms."""
        for tested, p_value in p_values.items():
            yield Verdict(
                self.name,
                session.subject.name,
                f"{tested}: p",
                p_value,
                session.error,
                alarm="below",
                error=session.error,
                runs=runs,
                details=details,
            )

    def limited(
        self, session: Session[S], figures: Mapping[str, tuple[float, float]], runs: int = 1
    ) -> Iterator[Verdict]:
        """Verdicts on figures that have a limit, and leave nothing to chance."""
        for tested, (figure, limit) in figures.items():
            yield Verdict(self.name, session.subject.name, tested, figure, limit, runs=runs)


class EachInItsWay(Check[Any]):
    """One question under one name, which every kind of subject is asked in a way of its own."""

    def __init__(self, *ways: Check[Any]) -> None:
        (self.name,) = {way.name for way in ways}
        self._ways = ways

    def asked_of(self, subject: Subject) -> Check[Any] | None:
        found = [way for way in self._ways if way.asked_of(subject) is not None]
        return found[0] if found else None

    def run(self, session: Session[Any]) -> Iterator[Verdict]:
        way = self.asked_of(session.subject)
        return iter(()) if way is None else way.run(session)
