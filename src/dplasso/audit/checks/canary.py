"""How well do releases reveal whether one row was present?"""

import math
from collections.abc import Iterator

import numpy as np

from dplasso.audit.certify import certify_at, histograms
from dplasso.audit.check import Check, Session, Subject, Verdict
from dplasso.audit.subject import Scored


class Canary(Check[Subject]):
    """Fits with and without one canary row; certifies a lower bound on the leakage of the fits.

    Each run is scored by the log-likelihood ratio of its releases, which is the best score there
    is, or of a part of them. On one third of the runs a score and a threshold are chosen; on the
    other runs, which were not used before, the rates at which the threshold is exceeded are bounded
    by Clopper-Pearson. Rates p with the canary and q without prove that epsilon is at least
    ln((p - delta) / q), rho at least the largest Renyi divergence between the two over its order,
    and mu at least the distance of their normal quantiles. A bound above the claim is an alarm. So
    is a score that is NaN or infinite: no correct release has one, and no bound follows from it.
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

        def scores(side: int, runs: int) -> Scored:
            return attack(side, runs, session.part(side, 2))

        runs = session.runs(subject.canary_runs, lambda n: (scores(0, n), scores(1, n)))
        (present, details), (absent, _) = scores(0, runs), scores(1, runs)
        invalid = sum(int(np.sum(~np.isfinite(side))) for side in (present, absent))
        if invalid:
            details["scores_not_finite"] = invalid
        else:
            details |= histograms(present[:, 0], absent[:, 0])
        for what, (measure, claimed) in subject.claims.items():
            found, shares, rates = math.nan, dict[str, float](), dict[str, float]()
            if not invalid:
                (found, rates), (usual, _) = certify_at(
                    present, absent, measure, (session.error, 0.05)
                )
                shares = {"share_of_claim": found / claimed, "at_95_percent": usual}
            yield Verdict(
                *(self.name, subject.name, f"certified {what}, at least", found, claimed),
                error=session.error,
                runs=2 * len(present),
                details=shares | details | rates,
            )
