"""What a check is."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeVar

from dplasso.audit.session import Session
from dplasso.audit.subject import Subject
from dplasso.audit.verdict import Verdict

S = TypeVar("S", bound=Subject)


class Check(ABC, Generic[S]):
    """A family of tests with one question. To audit more, write another and put it in `CHECKS`.

    A check is written once for all subjects. ``of`` is the kind of subjects that it can ask;
    they say how the question is put to their solver. ``share`` is the part of the time that it
    asks for, relative to the others. A check that is ``once`` is made for the first subject only.
    """

    name: str
    tests: int = 0
    share: float = 0.0
    once: bool = False
    of: type[Any] = Subject

    def is_for(self, subject: Subject) -> bool:
        """Whether this subject has anything to check."""
        return isinstance(subject, self.of)

    def tests_of(self, subject: S) -> int:
        """How many verdicts on this subject are left to chance, and share that of a false alarm."""
        return self.tests

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
