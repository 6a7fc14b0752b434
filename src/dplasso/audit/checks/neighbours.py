"""Can one row move a draw's law, or a sum, further than was charged?"""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Generic

from dplasso.audit.check import Check, S
from dplasso.audit.session import Session
from dplasso.audit.subject import DrawingSubject, NoisySubject
from dplasso.audit.verdict import Verdict


class _Neighbours(Check[S], Generic[S]):
    """Compares many pairs of neighbours and keeps the largest share of what was charged.

    Rows are empty, of one entry, of many, extreme, far beyond their bounds, in several formats.
    Nothing is left to chance but which neighbours are tried.
    """

    share = 0.2

    @abstractmethod
    def shares(self, session: Session[S], k: int) -> dict[str, float]:
        """What one row moves, over what is charged, for one pair of neighbours."""

    def run(self, session: Session[S]) -> Iterator[Verdict]:
        tries = session.runs(
            session.subject.tries, lambda n: [self.shares(session, k) for k in range(n)]
        )
        worst: dict[str, float] = {}
        for k in range(tries):
            for tested, share in self.shares(session, k).items():
                worst[tested] = max(worst.get(tested, 0.0), share)
            session.tell((k + 1) / tries)
        limit = session.subject.rounding
        limits = {tested: (share, limit) for tested, share in worst.items()}
        yield from self.limited(session, limits, tries)


class Range(_Neighbours[DrawingSubject]):
    """Compares both laws of a draw, on the solver's own scores.

    Two data sets go through the estimator's own validation and scoring, as far as theta. The
    log-ratio of their laws may range over no more than the event charged says. Finds missing
    clipping, a row that counts more than once, a wrong bound of a gradient, a theta for half of the
    signs. Does not look at the draw itself: `law` does.
    """

    name = "range"
    of = DrawingSubject

    def shares(self, session: Session[DrawingSubject], k: int) -> dict[str, float]:
        return session.subject.widest_log_ratios(session, k)


class Sensitivity(_Neighbours[NoisySubject]):
    """Compares the exact sums of neighbours, release by release, where all releases are the same.

    Two data sets go through the estimator's own validation and the solver's own sums. The length of
    the difference, in whole numbers and without rounding, may be no more than the noise's deviation
    over the multiplier charged. Finds a residual that is not cut, a gradient that is not clipped, a
    row that is not scaled or counts twice, sums that depend on other rows. Does not look at the
    noise: `noise` does.
    """

    name = "sensitivity"
    of = NoisySubject

    def shares(self, session: Session[NoisySubject], k: int) -> dict[str, float]:
        return session.subject.widest_changes(session, k)
