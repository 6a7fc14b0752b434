"""The statistics of an audit: tests of a law, and valid bounds on probabilities."""

import math
from collections.abc import Iterable
from itertools import pairwise

import numpy as np
from scipy.special import bdtr, betaincinv, chdtr, chdtrc, kl_div, ndtr, ndtri

from dplasso.base.arrays import Floats, Ints

_CELLS = 32  # number of cells of equal probability in which normal draws are counted
LEAST_EXPECTED = 25.0  # per cell: far out in the tail, chi-square needs more than the usual 5
_ORDERS = np.geomspace(1.01, 200.0, 120)


class Tally:
    """A chi-square test of draws that each have their own law, given those before.

    Observed minus expected counts are a martingale, whose covariance is the sum of those of the
    single draws. The test statistic is their squared length in that covariance; where all draws
    share one law it is Pearson's.
    """

    def __init__(self, cells: int) -> None:
        self.draws = 0
        self._excess, self._expected = np.zeros(cells), np.zeros(cells)
        self._covariance = np.zeros((cells, cells))

    def add(self, laws: Floats, drawn: Ints) -> None:
        """Add draws, one per row of ``laws``, which are probabilities of the cells."""
        expected = laws.sum(axis=0)
        self.draws += len(drawn)
        self._expected += expected
        self._excess += np.bincount(drawn, minlength=len(expected)) - expected
        self._covariance += np.diag(expected) - laws.T @ laws

    def p_value(self) -> float:
        """Probability of a test statistic at least this large if the laws are right."""
        pooled = _pooling(self._expected)
        excess, covariance = pooled @ self._excess, pooled @ self._covariance @ pooled.T
        values, axes = np.linalg.eigh(covariance)
        real = values > 1e-9 * max(float(values[-1]), 1e-300)
        if not real.any():
            return 1.0
        statistic = float(np.sum((axes.T[real] @ excess) ** 2 / values[real]))
        return float(chdtrc(int(real.sum()), statistic))


def pearson(observed: Ints, law: Floats) -> float:
    """The p-value of Pearson's test for counts of independent draws from one law."""
    expected = law * observed.sum()
    pooled = _pooling(expected)
    counts, wanted = pooled @ observed, pooled @ expected
    if observed[law <= 0.0].any():
        return 0.0
    if len(counts) < 2:
        return 1.0
    return float(chdtrc(len(counts) - 1, np.sum((counts - wanted) ** 2 / wanted)))


def _pooling(expected: Floats) -> Floats:
    """A matrix that pools cells too rare to be tested alone, with others of similar rarity."""
    order, group, room = np.argsort(expected, kind="stable"), 0, 0.0
    groups = np.zeros(len(expected), np.int64)
    for place in order:
        groups[place] = group
        room += expected[place]
        if room >= LEAST_EXPECTED:
            group, room = group + 1, 0.0
    if room > 0.0:  # the most probable cell remains: it joins the group before
        groups[groups == group] = max(group - 1, 0)
    return (groups == np.arange(groups.max() + 1)[:, None]).astype(np.float64)


def at_least(hits: int, runs: int, error: float) -> float:
    """Clopper-Pearson: a probability is at least this, with confidence 1 - error."""
    return 0.0 if hits == 0 else float(betaincinv(hits, runs - hits + 1, error))


def at_most(hits: int, runs: int, error: float) -> float:
    """Clopper-Pearson: a probability is at most this, with confidence 1 - error."""
    return 1.0 if hits == runs else float(betaincinv(hits + 1, runs - hits, 1.0 - error))


def epsilon_between(p: float, q: float, delta: float) -> float:
    """The least epsilon of (epsilon, delta)-DP under which an event has probabilities p and q."""
    return max(0.0, math.log((p - delta) / q)) if p > delta else 0.0


def rho_between(p: float, q: float) -> float:
    """The least rho of zCDP under which an event has probabilities p > q."""
    if not p > q > 0.0:
        return 0.0
    kl = float(kl_div(p, q) + kl_div(1.0 - p, 1.0 - q))
    if p >= 1.0:
        return max(kl, float(np.max(-np.log(q) / _ORDERS)))
    terms = np.stack(
        [
            _ORDERS * math.log(p) + (1.0 - _ORDERS) * math.log(q),
            _ORDERS * math.log1p(-p) + (1.0 - _ORDERS) * math.log1p(-q),
        ]
    )
    divergences = np.logaddexp(terms[0], terms[1]) / (_ORDERS - 1.0)
    return max(kl, float(np.max(divergences / _ORDERS)))


def mu_between(p: float, q: float) -> float:
    """The least mu of Gaussian differential privacy under which an event has rates p > q."""
    if not p > q > 0.0:
        return 0.0
    return float(ndtri(p) - ndtri(q))


def even_chance(hits: int, runs: int) -> float:
    """The exact two-sided p-value of ``hits`` heads of a fair coin."""
    few = min(hits, runs - hits)
    return min(1.0, 2.0 * float(bdtr(few, runs, 0.5)))


def unit_variance(squares: float, draws: int) -> float:
    """The two-sided p-value of a sum of squares of standard normal draws."""
    return min(1.0, 2.0 * float(min(chdtr(draws, squares), chdtrc(draws, squares))))


def zero_mean(total: float, draws: int) -> float:
    """The two-sided p-value of a sum of standard normal draws."""
    return 2.0 * float(ndtr(-abs(total) / math.sqrt(draws)))


def normal_p_values(of: str, draws: Floats) -> dict[str, float]:
    """Tests of draws that should be standard normal: their mean, variance and law."""
    cells = np.clip((ndtr(draws) * _CELLS).astype(np.int64), 0, _CELLS - 1)
    counts = np.bincount(cells, minlength=_CELLS)
    return {
        f"mean of the noise of {of}": zero_mean(float(draws.sum()), len(draws)),
        f"variance of the noise of {of}": unit_variance(float(draws @ draws), len(draws)),
        f"law of the noise of {of}": pearson(counts, np.full(_CELLS, 1.0 / _CELLS)),
    }


def agreement(pairs: Iterable[tuple[Floats, Floats]]) -> float:
    """The p-value of the number of equal signs, over the common length of each pair."""
    hits = runs = 0
    for one, other in pairs:
        length = min(len(one), len(other))
        hits += int(np.sum((one[:length] > 0.0) == (other[:length] > 0.0)))
        runs += length
    return even_chance(hits, runs)


def sign_p_values(fits: list[list[Floats]]) -> dict[str, float]:
    """Tests of the noise of fits, release by release: signs agree half of the time."""
    return {
        "signs of one release and the next": agreement(
            pair for fit in fits for pair in pairwise(fit)
        ),
        "signs of one column and the next": agreement(
            (release[:-1], release[1:]) for fit in fits for release in fit
        ),
        "signs of one fit and the next": agreement(
            pair for two in pairwise(fits) for pair in zip(*two, strict=False)
        ),
    }
