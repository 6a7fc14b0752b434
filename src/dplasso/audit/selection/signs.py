"""Are signs drawn, given the columns?"""

import math

import numpy as np
from scipy.special import ndtr

from dplasso.base.arrays import Floats, Ints


class SignTally:
    """A test for signs that are read from the data in some rounds instead of drawn.

    Given its column, the sign of a released vertex is that of the score with probability p = 1 / (1
    + exp(-2 theta |score|)). If the sign is read instead in a share f of the rounds, that
    probability is p + f (1 - p). The statistic is the derivative in f of the log-likelihood at f =
    0: it adds 1/p - 1 for a sign that agrees with its score and -1 for one that does not. Under the
    right law it is a martingale whose variance grows by (1 - p) / p; its mean grows by f times
    that. No other test has more power against a small f.
    """

    def __init__(self) -> None:
        self.draws = 0
        self._total = self._variance = 0.0

    def add(self, log_laws: Floats, drawn: Ints) -> None:
        """Add draws, one per row of ``log_laws``: log-probabilities of (+, -) vertex by vertex."""
        runs = np.arange(len(drawn))
        gap = log_laws[runs, drawn & ~1] - log_laws[runs, drawn | 1]  # 2 theta score
        agrees = np.where(gap >= 0.0, drawn % 2 == 0, drawn % 2 == 1)
        odds = np.exp(-np.abs(gap))  # (1 - p) / p
        self.draws += len(drawn)
        self._total += float(np.sum(np.where(agrees, odds, -1.0)))
        self._variance += float(np.sum(odds))

    def p_value(self) -> float:
        """The two-sided p-value: signs may also disagree with their scores too often."""
        if self._variance == 0.0:
            return 1.0
        return float(2.0 * ndtr(-abs(self._total) / math.sqrt(self._variance)))
