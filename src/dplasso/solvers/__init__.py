"""The iteration: private Frank-Wolfe, and in `lasso` a plain solver of the same problem."""

from dplasso.solvers.frank_wolfe import Counters, Solution, check_range, frank_wolfe, rule_for

__all__ = ["Counters", "Solution", "check_range", "frank_wolfe", "rule_for"]
