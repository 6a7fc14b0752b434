"""How well do releases reveal whether one row was present?"""

from collections.abc import Iterator

from dplasso.audit.certify import certified
from dplasso.audit.check import Check
from dplasso.audit.session import Session
from dplasso.audit.subject import Subject
from dplasso.audit.verdict import Verdict
from dplasso.base.arrays import Floats


class Canary(Check[Subject]):
    """Fits with and without one canary row; certifies a lower bound on the leakage of the fits.

    Each run is scored by the log-likelihood ratio of its releases, which is the best score there
    is, or of a part of them. On one third of the runs a score and a threshold are chosen; on the
    other runs, which were not used before, the rates at which the threshold is exceeded are bounded
    by Clopper-Pearson. Rates p with the canary and q without prove that epsilon is at least
    ln((p - delta) / q), rho at least the largest Renyi divergence between the two over its order,
    and mu at least the distance of their normal quantiles. A bound above the claim is an alarm.
    This is the only check that looks just at the input and the output of a fit. It needs many runs
    to detect a fault of a small factor, and certifies less than the truth by the uncertainty of
    its runs.
    """

    name = "canary"
    share = 2.0

    def is_for(self, subject: Subject) -> bool:
        return bool(subject.claims)

    def tests_of(self, subject: Subject) -> int:
        return len(subject.claims)

    def run(self, session: Session[Subject]) -> Iterator[Verdict]:
        subject = session.subject
        attack = subject.attack(session)

        def scores(side: int, runs: int) -> Floats:
            return attack.scores(side, runs, lambda part: session.tell((side + part) / 2.0))

        runs = session.runs(subject.canary_runs, lambda n: (scores(0, n), scores(1, n)))
        present, absent = scores(0, runs), scores(1, runs)
        details = attack.details()
        yield from certified(
            subject.name, present, absent, subject.claims, session.error, **details
        )
