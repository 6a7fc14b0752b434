"""DP-GD and DP-SGD as rivals: grids, and batches of fits judged on the test rows.

Settings of a fit: ``map`` of rows, ``bias`` (the entry that carries the intercept), ``steps``,
``sampling``, ``rate``, ``clip`` (of a row's gradient, over the longest it can be: 1 never clips),
``momentum``, and ``averaged``: the mean of the last quarter of the iterates, or the last one.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from rivals.accounts import noise_multiplier
from rivals.descent import Column, descend
from rivals.problem import Effort, Problem, Request, rounded

CLIPS = (0.03, 0.1, 0.25, 0.5, 1.0)
COARSE_CLIPS = (0.1, 0.5)
BIAS, OTHER_BIAS = 0.3, 1.0
RATES, RATIO = 5, 2.5  # how many rates are tried, and how far apart
MOST_NOISE = 2.0  # in the margin of a row of length 1: the largest rate tried leaves that much
LONGEST_MOVE = 300.0  # and no more than this much of a clipping bound a step
MOST_PASSES = 60  # over the rows, from which on sampled rows are not made more
AT_ONCE = 48  # columns of a batch

Schedule = tuple[float, int]  # sampling, steps


class ClippedDescent(NamedTuple):
    """A rival: what it is called, and which schedules it tries at an epsilon."""

    name: str
    schedules: Callable[[Problem, float], Sequence[Schedule]]
    longest: int

    def effort(self, problem: Problem) -> Effort:
        return Effort(2, 2) if problem.is_large else Effort(4, 3)

    def coarse(self, problem: Problem, epsilon: float) -> list[dict[str, Any]]:
        """The grid that every set gets."""
        return [
            settings
            for name in problem.maps
            for sampling, steps in self.schedules(problem, epsilon)
            for clip in COARSE_CLIPS
            for rate in self.rates(problem, epsilon, clip, sampling, steps)
            for settings in _both(name, BIAS, steps, sampling, rate, clip, 0.0)
        ]

    def rates(
        self, problem: Problem, epsilon: float, clip: float, sampling: float, steps: int
    ) -> list[float]:
        """Learning rates down from the largest that may be useful."""
        bound = clip * math.hypot(1.0, BIAS)
        multiplier = noise_multiplier(epsilon, problem.delta, steps, sampling)
        noise = multiplier * bound / (problem.n_rows * sampling) * math.sqrt(steps)
        most = min(MOST_NOISE / noise, LONGEST_MOVE / bound)
        return [rounded(most / RATIO**k) for k in range(RATES)]

    def nearby(self, problem: Problem, epsilon: float, best: dict[str, Any]) -> list[dict]:
        """What differs from the best of the grid in one respect."""
        place = CLIPS.index(best["clip"])
        changes: list[dict[str, Any]] = [
            {"rate": best["rate"] / 1.6},
            {"rate": best["rate"] * 1.6},
            {"momentum": 0.9, "rate": best["rate"] / 10},
            {"bias": OTHER_BIAS},
            {"steps": math.ceil(best["steps"] / 2), "rate": best["rate"] * 2},
        ]
        # A step stays as long where the clipping bound changes.
        changes += [
            {"clip": clip, "rate": best["rate"] * best["clip"] / clip}
            for clip in CLIPS[max(place - 1, 0) : place + 2]
            if clip != best["clip"]
        ]
        if 2 * best["steps"] <= self.longest and not problem.is_large:
            changes.append({"steps": 2 * best["steps"], "rate": best["rate"] / 2})
        if best["sampling"] < 1.0 and best["sampling"] * best["steps"] < MOST_PASSES:
            changes.append({"sampling": min(2 * best["sampling"], 0.5)})
        near = [{**best, **change} for change in changes]
        return [
            {**settings, "rate": rounded(settings["rate"]), "averaged": averaged}
            for settings in near
            for averaged in (False, True)
        ]

    def scores(
        self, problem: Problem, requests: Sequence[Request]
    ) -> Iterator[tuple[Request, dict[str, float]]]:
        """Fits, and how good each is; in an order of its own."""
        for batch in batches(requests):
            yield from _run(problem, batch)


def _both(
    name: str, bias: float, steps: int, sampling: float, rate: float, clip: float, momentum: float
) -> list[dict[str, Any]]:
    settings = {
        "map": name,
        "bias": bias,
        "steps": steps,
        "sampling": sampling,
        "rate": rate,
        "clip": clip,
        "momentum": momentum,
    }
    return [{**settings, "averaged": averaged} for averaged in (False, True)]


def shared(request: Request) -> tuple:
    """What the fits of a batch have in common. A seed draws the rows where they are sampled."""
    settings = request.settings
    apart = request.seed if settings["sampling"] < 1.0 else -1
    return tuple(settings[name] for name in ("map", "bias", "steps", "sampling")) + (apart,)


def batches(requests: Sequence[Request]) -> Iterator[list[Request]]:
    """Requests in groups that can run side by side."""
    for _, group in groupby(sorted(requests, key=shared), key=shared):
        alike = sorted(group, key=lambda r: (r.seed, r.epsilon, str(r.settings)))
        for start in range(0, len(alike), AT_ONCE):
            yield alike[start : start + AT_ONCE]


def column(problem: Problem, request: Request) -> Column:
    """The run of a request, with as little noise as its budget allows."""
    settings = request.settings
    noise = noise_multiplier(
        request.epsilon, problem.delta, settings["steps"], settings["sampling"]
    )
    bound = settings["clip"] * math.hypot(1.0, settings["bias"])
    return Column(settings["rate"], bound, settings["momentum"], noise, request.seed)


def _run(problem: Problem, batch: list[Request]) -> Iterator[tuple[Request, dict[str, float]]]:
    columns = [column(problem, request) for request in batch]
    distinct = list(dict.fromkeys(columns))  # last iterate and average come of one fit
    name, bias, steps, sampling, _ = shared(batch[0])
    train, test = problem.rows(name)
    found = descend(train, problem.labels, distinct, bias=bias, steps=steps, sampling=sampling)
    with np.errstate(all="ignore"):  # a rate can be too large: margins without end are judged worst
        margins = [test @ weights[:-1] + bias * weights[-1] for weights in found]
    for request, run in zip(batch, columns, strict=True):
        chosen = margins[request.settings["averaged"]][:, distinct.index(run)]
        yield request, problem.judge(chosen)
