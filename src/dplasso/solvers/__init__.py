"""Solvers, written against losses and mechanisms."""

from dplasso.solvers.frank_wolfe import Counters, Solution, frank_wolfe

__all__ = ["Counters", "Solution", "frank_wolfe"]
