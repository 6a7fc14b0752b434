"""How much the start should weigh beside noise that is still large."""

import math

from dplasso.base import checks
from dplasso.domains import Domain


def steadying_rows(domain: Domain, regularisation: float, noise: float) -> float:
    """Rows that the start should weigh like: a leader's ``start_rows``.

    ``noise`` is the standard deviation of an entry of a released sum, a public number. After n
    rows it moves the minimiser by ``noise sqrt(d) / (mu (n + start_rows))``: with the first rows
    from one end of the set to the other, and every row pays for it. So many rows of the start hold
    that to half the diameter from the first row on; more would hold back the signal for longer.

    >>> from dplasso.domains import L1Ball
    >>> steadying_rows(L1Ball(100, radius=5.0), regularisation=0.1, noise=10.0)
    200.0
    """
    length = checks.budget("noise", noise) * math.sqrt(domain.dimension)
    return length / (checks.bound("regularisation", regularisation) * domain.diameter / 2.0)
