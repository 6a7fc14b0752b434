"""The grid, the noise and the privacy cost of a job of moments."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

from dplasso.base.wording import ParameterError, Setting
from dplasso.federated.count_plan import PADDING, CountPlan, count_plan, rho_of_count
from dplasso.federated.moments.capacity import CapacityTest, capacity_test
from dplasso.federated.moments.terms import MomentTerms
from dplasso.mechanisms.gaussian_cells import LEAST_SIGMA, MOST_SIGMA
from dplasso.privacy import gaussian, zcdp
from dplasso.privacy.events import Composed, Event, Gaussian, PureDP

_MOST_BITS = 16
# Entries of the noisy matrix must be whole numbers below 2^63 in size. A noise of more standard
# deviations than these would be read wrongly; its chance is below 1e-30, and only accuracy suffers.
_MOST_SUM, _DEVIATIONS = 2**62, 12
_ROOT_2 = math.sqrt(2.0)
_LESS = 1.0 - 1e-12  # so that parts, each rounded, add up to no more than the whole


@dataclass(frozen=True)
class MomentPlan:
    """What follows from the terms of a job.

    Formal guarantees
    -----------------
    - Neighbouring: a person's row is present at all parties that hold one, or at none
      ("add_remove"), or other values are in its place ("replace_one"). The capacity is the same.
    - Released: the upper triangle of M'M plus noise, once, M having a row of whole numbers
      [a_1, ..., a_K, 1, y] per person. Before it, where the terms ask for them: the count of common
      rows (`dplasso.federated.overlap_count`), and about how many people there are
      (`dplasso.federated.moments.capacity`). Everything else is a function of these.
    - Sensitivity. A row r of squared length at most S (`squared_length`) adds r r'. The triangle,
      with its diagonal over sqrt(2), then moves by sqrt(|r|^4 / 2) <= S / sqrt(2). If r is replaced
      by s, the inner product of the two moves is (r's)^2 / 2 >= 0, so that the distance is at most
      sqrt(2) times as large. All of it in whole numbers: rounding is towards 0 and rows are checked
      after it (`dplasso.federated.moments.rows`).
    - Noise: each of K parties adds floor(X), X normal with variance sigma^2 / (K - c), and twice
      that on the diagonal. c parties that know their own noise, and c parties' tables, face the
      Gaussian mechanism with sigma = S / sqrt(2) * multiplier (times sqrt(2) for "replace_one"):
      it is (1 / multiplier)-GDP, which `dplasso.privacy.gaussian` converts exactly.
    - A sum of several floors is not the floor of a Gaussian. It is within total variation
      sigma exp(-2 pi^2 s^2 (1 - 1/K)), up to a constant, of a Gaussian less independent uniforms,
      rounded: post-processing. Each s is at least 2^12, which makes that less than exp(-10^8).
    - Assumptions: parties follow the protocol, keep their bounds and draw their noise; the server
      does not collude with a party. Server and one party together recover the tables of all.
      A party that does not draw its noise counts as one of the c.
    """

    terms: MomentTerms
    bits: int
    multiplier: float  # of the noise that c parties do not know; 0 without privacy
    count: CountPlan = CountPlan()
    capacity: CapacityTest = CapacityTest()

    @property
    def n_people(self) -> int:
        """The declared number of people."""
        return self.terms.n_people or self.terms.n_rows

    @property
    def has_first_part(self) -> bool:
        """Whether something is charged and released before the matrix."""
        return bool(self._before)

    @property
    def entry(self) -> int:
        """An entry at its bound, as a whole number."""
        return 1 << self.bits

    def row_limit(self, party: str) -> int:
        """Most that the squares of the features of one row of a party may add up to."""
        bound = Fraction(self.terms.parties[self.terms.number_of(party)].row_bound)
        return int(bound * bound * self.entry**2)  # rounded down

    @cached_property
    def squared_length(self) -> int:
        """S: most that the squares of a row of all parties add up to, with 1 and labels."""
        return sum(map(self.row_limit, self.terms.names)) + 2 * self.entry**2

    @property
    def sigma(self) -> float:
        """Standard deviation that c parties face off the diagonal, in whole numbers."""
        moved = self.squared_length / _ROOT_2
        return moved * self.multiplier * (_ROOT_2 if self._replaces else 1.0) * PADDING

    @property
    def share_sigma(self) -> float:
        """Standard deviation of each party's noise off the diagonal."""
        return self.sigma / math.sqrt(len(self.terms.names) - self.terms.colluders) * PADDING

    @property
    def share_sigma_on_diagonal(self) -> float:
        """Standard deviation of each party's noise on the diagonal."""
        return self.share_sigma * _ROOT_2 * PADDING

    @property
    def total_sigma(self) -> float:
        """Standard deviation of all noise off the diagonal, in units of bounded entries."""
        return self.share_sigma * math.sqrt(len(self.terms.names)) / self.entry**2

    @property
    def event(self) -> Event:
        """What the job costs, as c parties see it; this is what is charged."""
        return self.event_to(self.terms.colluders)

    @property
    def count_event(self) -> Event:
        """What is released before the matrix: about how many people there are, and share rows."""
        return _composed(*self._before)

    @property
    def model_event(self) -> Event:
        """What the matrix costs, as c parties see it."""
        return self._matrix_to(self.terms.colluders)

    def event_to(self, colluders: int) -> Event:
        """What the job costs to those who know the noise of that many parties."""
        matrix = self._matrix_to(colluders)
        return matrix if isinstance(matrix, PureDP) else _composed(*self._before, matrix)

    def epsilon_to(self, colluders: int) -> float:
        """Epsilon at the job's delta: 0 for outsiders and the server, 1 for a party."""
        event = self.event_to(colluders)
        if isinstance(event, PureDP):
            return math.inf
        return gaussian.epsilon_of(gaussian.mu(event), self.terms.delta)

    @property
    def _before(self) -> list[Event]:
        return [*self.count.events(len(self.terms.names)), *self.capacity.events]

    def _matrix_to(self, colluders: int) -> Event:
        if self.multiplier == 0.0 or colluders >= len(self.terms.names):
            return PureDP(math.inf)
        parties = len(self.terms.names)
        left = math.sqrt((parties - colluders) / (parties - self.terms.colluders))
        return Gaussian(self.multiplier * left)

    @property
    def _replaces(self) -> bool:
        return self.terms.neighboring == "replace_one"

    @property
    def fits(self) -> bool:
        """Whether noise of this size can be drawn, and sums of all rows fit with it."""
        largest = self.share_sigma_on_diagonal * math.sqrt(len(self.terms.names))
        sums = self.terms.n_rows * self.squared_length + _DEVIATIONS * largest
        noises = [self.share_sigma, self.share_sigma_on_diagonal]
        noises += [self.count.noise] if self.count.signs else []
        noises += [self.capacity.noise] if self.capacity.sigma else []
        drawn = all(LEAST_SIGMA <= noise <= MOST_SIGMA for noise in noises)
        return sums < _MOST_SUM and (self.multiplier == 0.0 or drawn)


@lru_cache(maxsize=16)
def moment_plan(terms: MomentTerms) -> MomentPlan:
    """Return the plan of a job, on the finest grid on which all sums and noises fit.

    >>> from dplasso.federated.moments.terms import agree_moments
    >>> terms = agree_moments({"a": 3, "b": 4}, "a", n_rows=1000, epsilon=1.0, delta=1e-6)
    >>> plan = moment_plan(terms)
    >>> plan.bits, round(plan.epsilon_to(1), 6), round(plan.epsilon_to(0), 3)
    (16, 1.0, 0.689)
    """
    parts = _parts(terms)
    for bits in range(_MOST_BITS, 0, -1):
        plan = MomentPlan(terms, bits, *parts)
        if plan.fits:
            return plan
    raise ParameterError(
        "{given} needs noise, or {n_rows} needs sums, that are too small or too large for whole "
        "numbers of 64 bits; choose another {epsilon}, or declare fewer rows",
        given=Setting("epsilon", terms.epsilon),
    )


def _parts(terms: MomentTerms) -> tuple[float, CountPlan, CapacityTest]:
    """Divide the budget: the noise of the matrix, of the count and of the test of capacity."""
    if terms.epsilon == math.inf:
        return 0.0, CountPlan(), CapacityTest()
    # A conversion may be off in the last place: then the noise is larger, not smaller.
    if terms.account == "exact" and not terms.n_people and not terms.min_overlap:
        return PADDING / gaussian.mu_of(terms.epsilon, terms.delta), CountPlan(), CapacityTest()
    if terms.account == "rho":
        rho = zcdp.rho_of(terms.epsilon, terms.delta)
    else:
        rho = gaussian.mu_of(terms.epsilon, terms.delta) ** 2 / 2.0
    rho *= _LESS
    parties, people = len(terms.names), terms.n_people or terms.n_rows
    of_count = rho_of_count(parties, people, terms.min_overlap, rho)
    capacity = capacity_test(people, rho) if terms.n_people else CapacityTest()
    left = rho - of_count - capacity.rho
    return 1.0 / math.sqrt(2.0 * left), count_plan(parties, people, of_count), capacity


def _composed(*events: Event) -> Event:
    return events[0] if len(events) == 1 else Composed(events)
