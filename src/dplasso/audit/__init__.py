"""The audit: does the installed code keep its promises?

A check is one file, written once for all solvers; `dplasso.audit.runner.CHECKS` lists them. A
subject connects a solver to the checks: `selection` (Frank-Wolfe), `descent` (gradient descent),
`few` (a few columns selected first, then a descent) and `stream` have one each, and
`dplasso.audit.registry` lists them. `account`, `reference` and the subjects' modules `reference`
compute the expected values independently, by plain formulae that share no code with the product.
"""

from dplasso.audit.check import Check
from dplasso.audit.examples import example_estimators
from dplasso.audit.runner import CHECKS, run
from dplasso.audit.session import Session
from dplasso.audit.verdict import AuditReport, Verdict

__all__ = ["CHECKS", "AuditReport", "Check", "Session", "Verdict", "example_estimators", "run"]
