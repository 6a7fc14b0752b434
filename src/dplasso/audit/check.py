"""The base class of all checks."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeVar

from dplasso.audit.session import Session
from dplasso.audit.subject import Subject
from dplasso.audit.verdict import Verdict

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
        """Verdicts on deterministic figures that have a limit."""
        for tested, (figure, limit) in figures.items():
            yield Verdict(self.name, session.subject.name, tested, figure, limit, runs=runs)
