"""The base class of all checks."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from dplasso.audit.session import Session
from dplasso.audit.subject import Subject
from dplasso.audit.verdict import ROUNDING, Verdict

__all__ = ["ROUNDING", "Check", "Session", "Subject", "Verdict"]  # what every check imports
_NAMED = 30  # most differences that a report names
S = TypeVar("S", bound=Subject)


class Check(ABC, Generic[S]):
    """A family of tests that answer one question. To add a check, write a class and list it in
    `CHECKS`.

    A check is written once for all subjects. ``of`` is the kind of subjects that it applies to;
    subjects adapt it to their solver. ``share`` is the part of the time that it requests, relative
    to the others. A check that is ``once`` is made for the first subject only.
    """

    name: str
    tests: int = 0
    share: float = 0.0
    once: bool = False
    of: type[Any] = Subject

    def is_for(self, subject: Subject) -> bool:
        """Whether this check applies to the subject."""
        return isinstance(subject, self.of)

    def tests_of(self, subject: S) -> int:
        """Number of statistical tests of this subject, which share the false-alarm probability."""
        return self.tests

    @abstractmethod
    def run(self, session: Session[S]) -> Iterator[Verdict]:
        """Run the tests."""

    def doubted(
        self, session: Session[S], p_values: Mapping[str, float], runs: int, **details: Any
    ) -> Iterator[Verdict]:
        """Verdicts of statistical tests: a p-value that is too small is an alarm."""
        for tested, p_value in p_values.items():
            yield Verdict(
                *(self.name, session.subject.name, f"{tested}: p", p_value, session.error),
                alarm="below",
                error=session.error,
                runs=runs,
                details=details,
            )

    def limited(
        self,
        session: Session[S],
        figures: Mapping[str, tuple[float, float]],
        runs: int = 1,
        **details: Any,
    ) -> Iterator[Verdict]:
        """Verdicts on deterministic figures that have a limit."""
        for tested, (figure, limit) in figures.items():
            yield Verdict(
                *(self.name, session.subject.name, tested, figure, limit),
                runs=runs,
                details=details,
            )

    def worst(
        self,
        session: Session[S],
        figures: Iterable[Mapping[str, float]],
        runs: int,
        limit: float = ROUNDING,
        **details: Any,
    ) -> Iterator[Verdict]:
        """Verdicts on the largest of many figures, by name; NaN counts as larger than all."""
        found: dict[str, list[float]] = defaultdict(list)
        for one in figures:
            for tested, figure in one.items():
                found[tested].append(figure)
        largest = {tested: (float(np.max(all_of)), limit) for tested, all_of in found.items()}
        yield from self.limited(session, largest, runs, **details)

    def counted(
        self, session: Session[S], tested: str, compared: Sequence[tuple[str, int]]
    ) -> Iterator[Verdict]:
        """A verdict on comparisons, each with a name and its number of differences."""
        names = list(dict.fromkeys(name for name, differing in compared if differing))
        details = {"found": names[:_NAMED]} if names else {}
        total = sum(differing for _, differing in compared)
        yield from self.limited(session, {tested: (total, 0.0)}, len(compared), **details)
