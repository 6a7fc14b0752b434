"""The audit: does the installed code keep what it promises?

One check a file, all of them listed in `dplasso.audit.runner.CHECKS`. What they are held against,
`account`, `facts` and `reference`, computes everything a second time, by plain formulae.
"""

from dplasso.audit.check import Check, Session
from dplasso.audit.runner import CHECKS, example_estimators, run
from dplasso.audit.verdict import AuditReport, Verdict

__all__ = ["CHECKS", "AuditReport", "Check", "Session", "Verdict", "example_estimators", "run"]
