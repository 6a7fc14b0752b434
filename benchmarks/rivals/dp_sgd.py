"""DP-SGD: descent on rows drawn by chance (Poisson), each clipped, with noise in every coordinate.

The account is dp-accounting's, by privacy loss distributions. Grid, at every epsilon: maps of rows
(presence, as they are) x four pairs of sampling rate and steps (.03 to .1, 60 to 1,000) x clipping
bound (.1 and .5 of the longest gradient) x 5 learning rates 2.5 apart x last iterate or mean of the
last quarter; then, around the best, rates 1.6 apart, the next clipping bounds, momentum .9, an
intercept that moves faster, half and twice the steps, twice the sampling rate. Abadi et al., 2016.
"""

from rivals.clipped_descent import ClippedDescent, Schedule
from rivals.problem import Problem


def schedules(problem: Problem, epsilon: float) -> list[Schedule]:
    if problem.is_large:
        return [(0.1, 30), (0.1, 120)] if epsilon < 3.0 else [(0.1, 60), (0.1, 250)]
    longer = [(0.1, 1000)] if epsilon >= 0.3 else [(0.1, 20)]
    return [(0.1, 60), (0.1, 250), (0.03, 1000), *longer]


DP_SGD = ClippedDescent("DP-SGD", schedules, longest=1000)
