"""DP-GD: gradient descent on all rows, each clipped, with Gaussian noise in every coordinate.

The account is exact: all steps together are one Gaussian mechanism. Grid, at every epsilon: maps of
rows (presence, as they are) x steps (5 to 600, more for larger epsilon) x clipping bound (.1 and .5
of the longest gradient) x 5 learning rates 2.5 apart x last iterate or mean of the last quarter;
then, around the best, rates 1.6 apart, the next clipping bounds, momentum .9, an intercept that
moves faster, half and twice the steps. Bassily, Smith and Thakurta, 2014.
"""

from rivals.clipped_descent import ClippedDescent, Schedule
from rivals.problem import Problem


def schedules(problem: Problem, epsilon: float) -> list[Schedule]:
    if problem.is_large:
        steps = (5, 20, 60) if epsilon < 3.0 else (20, 60, 150)
    elif epsilon < 0.3:
        steps = (5, 20, 60)
    else:
        steps = (20, 60, 200) if epsilon < 3.0 else (60, 200, 600)
    return [(1.0, count) for count in steps]


DP_GD = ClippedDescent("DP-GD", schedules, longest=600)
