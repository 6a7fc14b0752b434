"""The audit: does the installed code keep what it promises?

One check a file, all of them listed in `dplasso.audit.runner.CHECKS`; those of one solver in
`selection` (Frank-Wolfe), `descent` (gradient descent) and `few` (a few columns selected first,
then a descent). What they are held against, modules
called `account`, `facts`, `held` and `reference`, computes everything a second time, by plain
formulae.
"""

from dplasso.audit.check import Check, Session
from dplasso.audit.examples import example_estimators
from dplasso.audit.runner import CHECKS, run
from dplasso.audit.verdict import AuditReport, Verdict

__all__ = ["CHECKS", "AuditReport", "Check", "Session", "Verdict", "example_estimators", "run"]
