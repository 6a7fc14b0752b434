"""How well do releases tell whether one row was there?"""

from collections.abc import Iterator

from dplasso.audit.certify import certified
from dplasso.audit.check import Check
from dplasso.audit.session import Session
from dplasso.audit.subject import Subject
from dplasso.audit.verdict import Verdict
from dplasso.base.arrays import Floats


class Canary(Check[Subject]):
    """Fits with and without one telling row; certifies a lower bound on what the fits leak.

    Each run is scored by the log-likelihood ratio of its releases, the best score there is, or of a
    part of them. On one third of the runs a score and a threshold are chosen; on the rest,
    untouched until then, the rates at which it is exceeded are bounded by Clopper-Pearson. Rates p
    with the canary and q without prove that epsilon is at least ln((p - delta) / q), rho at least
    the largest Renyi divergence between the two over its order, and mu at least the distance of
    their normal quantiles. Any of these above what is claimed is an alarm. This is the one check
    that looks at a fit from both ends alone; but it needs many runs to see a fault of a small
    factor, and certifies less than the truth by as much as its runs leave open.
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
