"""The privacy cost of a job, over all parties together and at each of them."""

import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from dplasso.base.wording import ParameterError, Setting
from dplasso.federated.count_plan import ENTRY, PADDING, CountPlan, count_plan, rho_of_count
from dplasso.federated.sampling import Sampling
from dplasso.federated.terms import Terms
from dplasso.privacy import zcdp
from dplasso.privacy.events import BoundedRange, Composed, Event, Gaussian, PureDP, Repeated

# Shares of rho: for selections see `selection_share`; of the rest, the share of the labels.
_SELECTION, _MOST_SELECTION, LABEL_SHARE = 25.0, 0.3, 0.35
WEIGHT = 2**20  # the public weight of a row at its clip, as an integer; an entry has `ENTRY`
# A column's sum is released before its sketch, with this many times the noise. It costs a row its
# squared entry over the square of this factor, in addition to the squared centred entry.
SUM_FACTOR = 8
# The sum of the labels gets what makes the standard deviation of their mean this share of their
# bound, but at least the second and at most the third share of what the labels get.
_MEAN_SPREAD, _LEAST_FOR_MEAN, _MOST_FOR_MEAN = 0.05, 1 / 65, 0.5
# Noise standard deviations that can be drawn exactly, in integers.
LEAST_NOISE, MOST_NOISE = 2.0**12, 2.0**48


@dataclass(frozen=True)
class FederatedPlan:
    """The noise of a job and its privacy account.

    Formal guarantees
    -----------------
    - Neighbouring: a person's row is present at all parties that hold one, or at none. The declared
      number of rows is the same for both.
    - Released by all parties together, adaptively: the count of common rows, if the terms ask for
      it; signed indices, and sums and sketches of the shared features and of the labels.
    - Cost in rho: K / (2 ``count.sigma``^2) for the count, with K parties
      (`dplasso.federated.overlap_count`); B / (2 ``sketch_sigma``^2) for all sums and sketches of
      features, however many there are, where B is the sum of the row budgets of all parties;
      1 / (2 ``label_sum_multiplier``^2) + 1 / (2 ``label_multiplier``^2) for the sum and the
      sketch of the labels;
      ``choice_epsilon``^2 / 8
      for each request counted in ``asks``. The total is converted to (epsilon, delta) once.
    - Proof. Each of the ``sketch_size`` numbers of a sketch is a sum of signs times centred
      entries. So a row changes the sketch by its centred entry times sqrt(``sketch_size``), by
      which the noise is scaled. An entry is cut to what its row's budget at the party still covers;
      that depends on this row and on earlier releases, never on another row. So for any adaptive
      choice of features, the costs of a row add up to at most its budgets (a filter in the sense of
      Feldman and Zrnic, 2021). Selections are exponential mechanisms whose scores a row changes by
      at most ENTRY * WEIGHT, exactly, in either direction.
    - Assumptions: one row per person at each party; noise and secrets as in `Party`.
    """

    terms: Terms
    asks: dict[str, int]
    sketch_sigma: float  # noise of a normalised sketch, in units of an entry at its bound
    label_multiplier: float
    choice_epsilon: float
    label_sum_multiplier: float = 0.0
    count: CountPlan = CountPlan()

    @property
    def n_people(self) -> int:
        """The declared number of people."""
        return self.terms.n_rows

    @property
    def has_first_part(self) -> bool:
        """Whether something is charged and released before the rest of the job."""
        return self.count.signs > 0

    @property
    def event(self) -> Event:
        """All releases of all parties in the job."""
        return composed(*self._count, *self._model)

    @property
    def count_event(self) -> Event:
        """The count of common rows, over all parties."""
        return composed(*self._count)

    @property
    def model_event(self) -> Event:
        """All other releases, over all parties."""
        return composed(*self._model)

    def event_of(self, party: str) -> Event:
        """The releases of one party."""
        holds_labels = party == self.terms.label_holder
        budget, asks = self.terms.of(party).row_budget, self.asks[party]
        return composed(*self.count.events(1), *self._events(budget, asks, holds_labels))

    @property
    def total_budget(self) -> float:
        """The sum of the row budgets of all parties."""
        return math.fsum(party.row_budget for party in self.terms.parties)

    @property
    def sum_noise(self) -> float:
        """Noise standard deviation on the sum of a feature, in integer units."""
        return self.sketch_sigma * ENTRY * SUM_FACTOR * PADDING

    @property
    def sketch_noise(self) -> float:
        """Noise standard deviation on every number of its sketch."""
        return self.sketch_sigma * ENTRY * math.sqrt(self.terms.sketch_size) * PADDING

    @property
    def label_sum_noise(self) -> float:
        """Noise standard deviation on the sum of the labels."""
        return self.label_sum_multiplier * ENTRY * PADDING

    def label_sketch_noise(self, centre: int) -> float:
        """Return the noise standard deviation on the labels' sketch about a released centre."""
        most = ENTRY + abs(centre)
        return self.label_multiplier * most * math.sqrt(self.terms.sketch_size) * PADDING

    @property
    def theta(self) -> Fraction:
        """Selections weight an integer score s by exp(theta s)."""
        return Fraction(self.choice_epsilon) / (2 * ENTRY * WEIGHT)

    @property
    def _model(self) -> list[Event]:
        return self._events(self.total_budget, sum(self.asks.values()), labels=True)

    @property
    def _count(self) -> list[Event]:
        return self.count.events(len(self.terms.parties))

    def _events(self, budget: float, asks: int, labels: bool) -> list[Event]:
        if self.terms.epsilon == math.inf:
            return [PureDP(math.inf)]
        parts: list[Event] = [Gaussian(self.sketch_sigma / math.sqrt(budget))]
        if labels:
            parts += [Gaussian(self.label_sum_multiplier), Gaussian(self.label_multiplier)]
        return [*parts, Repeated(BoundedRange(self.choice_epsilon), asks)]


def composed(*events: Event) -> Event:
    """Return all events as one."""
    return events[0] if len(events) == 1 else Composed(events)


@lru_cache(maxsize=16)
def plan_of(terms: Terms) -> FederatedPlan:
    """Return the noise that spends the epsilon and delta of a job.

    >>> from dplasso.federated import agree
    >>> bounds = dict(x_bounds={"a": 1.0, "b": 1.0}, y_bound=1.0)
    >>> terms = agree({"a": 3, "b": 4}, "a", n_rows=1000, epsilon=1.0, delta=1e-6, **bounds)
    >>> round(zcdp.epsilon_of(zcdp.rho(plan_of(terms).event), terms.delta), 9)
    1.0
    """
    asks = Sampling(terms).asks()
    if terms.epsilon == math.inf:
        return FederatedPlan(terms, asks, 0.0, 0.0, math.inf)
    # The strictest privacy must still leave a number to divide by.
    rho = max(zcdp.rho_of(terms.epsilon, terms.delta) * (1.0 - 1e-12), sys.float_info.min)
    budget = math.fsum(party.row_budget for party in terms.parties)
    of_count = rho_of_count(len(terms.parties), terms.n_rows, terms.min_overlap, rho)
    rho -= of_count
    choices = selection_share(sum(party.n_features for party in terms.parties)) * rho
    labels = LABEL_SHARE * (rho - choices)
    mean = mean_share(terms.n_rows, labels) * labels
    plan = FederatedPlan(
        terms,
        asks,
        sketch_sigma=math.sqrt(budget / (2.0 * (rho - choices - labels))),
        label_multiplier=1.0 / math.sqrt(2.0 * (labels - mean)),
        label_sum_multiplier=1.0 / math.sqrt(2.0 * mean),
        choice_epsilon=math.sqrt(8.0 * choices / max(1, sum(asks.values()))),
        count=count_plan(len(terms.parties), terms.n_rows, of_count),
    )
    _check_noise(plan)
    return plan


def _check_noise(plan: FederatedPlan) -> None:
    features = [plan.sum_noise, plan.sketch_noise]
    features += [plan.count.noise] if plan.count.signs else []
    labels = plan.label_sum_noise, plan.label_sketch_noise(0), plan.label_sketch_noise(ENTRY)
    if not all(LEAST_NOISE <= noise <= MOST_NOISE for noise in (*features, *labels)):
        raise ParameterError(
            "{given} needs noise that is too small or too large to draw; choose another {epsilon} "
            "or {row_budget}",
            given=Setting("epsilon", plan.terms.epsilon),
        )


def selection_share(n_features: int) -> float:
    """Return the share of rho for selections. The best of D features is found if scores differ by
    ln(2 D) / epsilon, and the rho of a selection grows with the square of its epsilon.

    >>> round(selection_share(120), 3), round(selection_share(40_000), 3)
    (0.048, 0.204)
    """
    return min((math.log(2 * n_features) / _SELECTION) ** 2, _MOST_SELECTION)


def mean_share(n_rows: int, rho: float) -> float:
    """Return the share of the labels' rho for their sum. Where the budget is too small for
    anything else, half of it makes the mean of the labels as exact as it can be.

    >>> round(mean_share(100_000, 0.01), 4), mean_share(1000, 1e-6)
    (0.0154, 0.5)
    """
    wanted = 1.0 / (2.0 * rho * (n_rows * _MEAN_SPREAD) ** 2)
    return min(max(wanted, _LEAST_FOR_MEAN), _MOST_FOR_MEAN)


def centre_of(total: int, n_rows: int) -> int:
    """Return the mean that follows from a released sum, within the bound on entries: public."""
    return max(-ENTRY, min(round(total / n_rows), ENTRY))
