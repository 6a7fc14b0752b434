"""Whether the people of all parties fit into the matrix of a job: a noisy test, paid for.

The server, which numbers pseudonyms, knows how many people there are. Parties may not: a party that
adds an identifier and sees the number grow, or not, knows whether others have that person. To end a
job at an exact number would tell it just that. So the server compares a noisy number, and a job has
room for more people than are declared: for twice the largest noise.
"""

import math
from dataclasses import dataclass

from dplasso.federated.count_plan import ENTRY, PADDING
from dplasso.privacy.events import Event, Gaussian

# The test gets what makes its noise the first share of the people, and at most the second of rho.
_SPREAD, _MOST = 1e-3, 0.01
# Noise beyond so many standard deviations, of chance 3e-19, is drawn again. A smaller delta takes
# more of them: the chance, which adds to delta, is at most this share of it.
_DEVIATIONS, _OF_DELTA = 9.0, 1e-3


@dataclass(frozen=True)
class CapacityTest:
    """The noise on the number of people, in people; 0 without a test.

    Formal guarantees
    -----------------
    - Neighbouring: a person's rows are at the parties, or at none of them. The number of people,
      cut at the capacity plus 1, then moves by at most 1.
    - Released: that number plus Gaussian noise, rounded down (`GridGaussian`), once. Cost:
      rho = 1 / (2 ``sigma``^2). Noise beyond `reach` is drawn again. Its chance adds to delta: at
      most a thousandth of it, which is less than the conversion of rho leaves.
    - A job that goes on has room for everybody, with certainty; one with no more people than are
      declared goes on, with certainty. So nothing depends on the exact number.
    - Assumption: the server, which knows the number, draws the noise and tells parties no more.
    """

    sigma: float = 0.0
    deviations: float = _DEVIATIONS

    @property
    def rho(self) -> float:
        """The cost."""
        return 0.5 / self.sigma**2 if self.sigma else 0.0

    @property
    def events(self) -> list[Event]:
        """What is released."""
        return [Gaussian(self.sigma)] if self.sigma else []

    @property
    def noise(self) -> float:
        """Noise standard deviation, in units of 1 / `ENTRY`."""
        return self.sigma * ENTRY * PADDING

    @property
    def reach(self) -> int:
        """The largest noise, in people."""
        return math.ceil(self.deviations * self.sigma)

    @property
    def room(self) -> int:
        """How many people fit beyond those that are declared."""
        return 2 * self.reach


def capacity_test(people: int, rho: float, delta: float) -> CapacityTest:
    """Return the test for a declared number of people, out of a job's whole rho.

    >>> capacity_test(100_000, 0.0132, 1e-10).room, capacity_test(100_000, 0.0132, 1e-30).room
    (1800, 2466)
    """
    sigma = max(1.0, _SPREAD * people, math.sqrt(0.5 / (_MOST * rho)))
    return CapacityTest(sigma, max(_DEVIATIONS, math.sqrt(2.0 * math.log(1.0 / _OF_DELTA / delta))))
