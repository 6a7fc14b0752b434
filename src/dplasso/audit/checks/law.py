"""Do released draws follow the law on which the guarantee rests?"""

from collections.abc import Iterator

from dplasso.audit.check import Check
from dplasso.audit.session import Session
from dplasso.audit.subject import DrawingSubject
from dplasso.audit.verdict import Verdict


class Law(Check[DrawingSubject]):
    """Chi-square tests of the draws of fits against their exact law given the draws before.

    The law is computed by the subject's reference from the raw rows and the public numbers alone,
    with the theta that the claim allows. The check finds a theta other than the one stated, a sign
    that is read from the data instead of drawn, columns drawn twice, wrong gradients, scores or
    steps, and biased bits. A fault in one row's share of a score is too small for it: `range` and
    `canary` look for those.
    """

    name = "law"
    of = DrawingSubject
    share = 1.0

    def tests_of(self, subject: DrawingSubject) -> int:
        return subject.law_tests

    def run(self, session: Session[DrawingSubject]) -> Iterator[Verdict]:
        for p_values, runs in session.subject.law_p_values(session):
            yield from self.doubted(session, p_values, runs)
