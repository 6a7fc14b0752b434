"""The engine of Frank-Wolfe, for checks that run it step by step."""

import importlib

from dplasso.fitting.frank_wolfe import FrankWolfeTask
from dplasso.kernels.problem import DECREASING, Problem, Walk

_solver = importlib.import_module("dplasso.solvers.frank_wolfe")  # its name is also a function


def problem_of(task: FrankWolfeTask, radius: float, theta: float) -> Problem:
    """The rows and public numbers of a fit, as the engine holds them."""
    facts = (task.matrix, task.labels, task.plan.request.loss, radius, theta, DECREASING)
    problem: Problem = _solver._problem(*facts)
    return problem


def walk_of(problem: Problem, rounds: int) -> Walk:
    """A walk before its first round."""
    walk: Walk = _solver._walk(problem, rounds)
    return walk
