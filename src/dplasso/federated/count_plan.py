"""The count of common rows in the account of a job: its share of the budget, and its noise."""

import math
from dataclasses import dataclass

from dplasso.privacy.events import Event, Gaussian

# The count gets what makes its standard deviation the first share of the rows, and at most the
# second share of rho. With a deviation above the third, rows are not counted.
_SPREAD, _MOST, _USELESS_SPREAD = 1 / 8, 0.05, 0.4
_MOST_SIGNS = 256
ENTRY = 2**16  # a number of 1, as an integer
# More than the rounding errors of the few operations that give a standard deviation.
PADDING = 1.0 + 1e-12


@dataclass(frozen=True)
class CountPlan:
    """Noise and numbers of the count of common rows (`dplasso.federated.overlap_count`).

    ``sigma`` is the noise of a normalised sum of signs, ``signs`` how many numbers a party
    releases; both are 0 without a count.
    """

    sigma: float = 0.0
    signs: int = 0

    @property
    def noise(self) -> float:
        """Noise standard deviation on every sum of signs, in integer units."""
        return self.sigma * ENTRY * math.sqrt(self.signs) * PADDING

    def events(self, parties: int) -> list[Event]:
        """What so many parties release of the count."""
        return [Gaussian(self.sigma / math.sqrt(parties))] if self.signs else []


def rho_of_count(parties: int, rows: int, min_overlap: float, rho: float) -> float:
    """Return the part of rho for the count of common rows; 0 if there is no count.

    With the best number of signs, an estimated share of common rows has a variance of
    2 K / (n rho).
    """
    if min_overlap == 0.0 or parties == 1:
        return 0.0
    paid = min(2.0 * parties / (rows * _SPREAD**2), _MOST * rho)
    return paid if 2.0 * parties <= rows * paid * _USELESS_SPREAD**2 else 0.0


def count_plan(parties: int, rows: int, rho: float) -> CountPlan:
    """Return the noise that spends ``rho`` on the count."""
    if rho == 0.0:
        return CountPlan()
    sigma = math.sqrt(parties / (2.0 * rho))
    # More signs average out chance; beyond n / sigma^2 they add more noise than they tell.
    return CountPlan(sigma, min(round(rows / sigma**2), _MOST_SIGNS))
