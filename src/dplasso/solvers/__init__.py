"""Solvers: private Frank-Wolfe, gradient descent (`gradient`), column choice (`few`), `lasso`."""

from dplasso.solvers.frank_wolfe import Counters, Solution, check_range, frank_wolfe, rule_for

__all__ = ["Counters", "Solution", "check_range", "frank_wolfe", "rule_for"]
