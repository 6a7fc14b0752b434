"""Can one row change a draw's law, or a sum, by more than was charged?"""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Generic

from dplasso.audit.check import Check, S, Session, Subject, Verdict
from dplasso.audit.subject import DrawingSubject, NoisySubject


class _Neighbours(Check[S], Generic[S]):
    """Compares many pairs of neighbours and keeps the largest ratio of the change to the charge.

    Rows are empty, have one entry or many, are extreme or far beyond their bounds, and come in
    several formats. The check is deterministic except for the choice of neighbours.
    """

    share = 0.2

    @abstractmethod
    def shares(self, session: Session[S], k: int) -> dict[str, float]:
        """The change by one row divided by the charge, for one pair of neighbours."""

    def run(self, session: Session[S]) -> Iterator[Verdict]:
        tries = session.runs(
            session.subject.tries, lambda n: [self.shares(session, k) for k in range(n)]
        )
        found = session.each(tries, lambda k: self.shares(session, k))
        yield from self.worst(session, found, tries, session.subject.rounding)


class Range(_Neighbours[DrawingSubject]):
    """Compares the laws of a draw on two neighbours, computed from the solver's own scores.

    Two data sets pass the estimator's own validation and scoring, up to theta. The log-ratio of
    their laws may range over no more than the charged event states. The check finds missing
    clipping, a row that counts more than once, a wrong bound on a gradient, and a theta that
    accounts for half of the signs. It does not test the draw itself: `law` does.
    """

    name = "range"
    of = DrawingSubject

    def shares(self, session: Session[DrawingSubject], k: int) -> dict[str, float]:
        return session.subject.widest_log_ratios(session, k)


class Sensitivity(_Neighbours[NoisySubject]):
    """Compares the exact sums of neighbours, release by release, given the same earlier releases.

    Two data sets pass the estimator's own validation and the solver's own sums. The length of the
    difference, in exact integers, may be at most the noise standard deviation divided by the
    charged multiplier. The check finds a residual or a gradient that is not clipped, a row that is
    not scaled or counts twice, and sums that depend on other rows. It does not test the noise:
    `noise` does.
    """

    name = "sensitivity"
    of = NoisySubject

    def is_for(self, subject: Subject) -> bool:
        return isinstance(subject, NoisySubject) and subject.noise_tests > 0

    def shares(self, session: Session[NoisySubject], k: int) -> dict[str, float]:
        return session.subject.widest_changes(session, k)
