"""What a job's releases cost, over all parties together and at each of them."""

import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from dplasso.federated.sampling import Sampling
from dplasso.federated.terms import Terms
from dplasso.privacy import zcdp
from dplasso.privacy.events import BoundedRange, Composed, Event, Gaussian, PureDP, Repeated

# Of rho: selections, see `selection_share`, and of the rest the sketch of the labels.
_SELECTION, _MOST_SELECTION, LABEL_SHARE = 25.0, 0.3, 0.35
# An entry at its bound, and a row's public weight at its clip, as whole numbers.
ENTRY, WEIGHT = 2**16, 2**20
# A column's sum is released before its sketch, with this many times the noise: it costs a row its
# entry's square over the square of this, beside that of the centred entry for the sketch.
SUM_FACTOR = 8
# Standard deviations that are drawn exactly, in whole numbers.
LEAST_NOISE, MOST_NOISE = 2.0**12, 2.0**48
# Above the rounding of the few operations that lead to a standard deviation.
_PADDING = 1.0 + 1e-12


@dataclass(frozen=True)
class FederatedPlan:
    """Noise of a job, and its account.

    Formal guarantees
    -----------------
    - Neighbouring: a person's row is there at all parties that hold one, or at none. The declared
      number of rows is the same for both.
    - Released by all parties together, adaptively: sums and sketches of the features they share, of
      the labels, and signed indices.
    - Cost, in rho: B / (2 ``sketch_sigma``^2) for all sums and sketches of features, however many
      there are, B the row budgets of all parties added up; (1 + 1/64) / (2 ``label_multiplier``^2)
      for sum and sketch of the labels; ``choice_epsilon``^2 / 8 for each question of ``asks``.
      Converted to (epsilon, delta) once.
    - Why. A sketch adds up signs times centred entries, ``sketch_size`` times: a row changes it by
      the root of that many times its centred entry, which is what its noise is scaled by. An entry
      is cut to what its row's budget at the party still covers; that depends on this row and on
      what was released, never on another row. So whatever features are chosen,
      by whatever came before, a row's costs add up to at most its budgets (a filter, in the sense
      of Feldman and Zrnic, 2021). Selections are exponential mechanisms whose scores a row changes
      by at most ENTRY * WEIGHT, exactly, either way.
    - Assumptions: one row a person at each party; noise and secrets as in `Party`.
    """

    terms: Terms
    asks: dict[str, int]
    sketch_sigma: float  # of a feature's sketch, normalised, in units of an entry at its bound
    label_multiplier: float
    choice_epsilon: float

    @property
    def event(self) -> Event:
        """All releases of the job."""
        return self._event(self.total_budget, sum(self.asks.values()), labels=True)

    def event_of(self, party: str) -> Event:
        """The releases of one party."""
        own = self.terms.parties[self.terms.number_of(party)]
        holds_labels = party == self.terms.label_holder
        return self._event(own.row_budget, self.asks[party], holds_labels)

    @property
    def total_budget(self) -> float:
        return math.fsum(party.row_budget for party in self.terms.parties)

    @property
    def sum_noise(self) -> float:
        """Standard deviation on a feature's sum, in whole numbers."""
        return self.sketch_sigma * ENTRY * SUM_FACTOR * _PADDING

    @property
    def sketch_noise(self) -> float:
        """The same on every number of its sketch."""
        return self.sketch_sigma * ENTRY * math.sqrt(self.terms.sketch_size) * _PADDING

    @property
    def label_sum_noise(self) -> float:
        return self.label_multiplier * ENTRY * SUM_FACTOR * _PADDING

    def label_sketch_noise(self, centre: int) -> float:
        """On the sketch of labels about a released centre: they are at most this far from it."""
        most = ENTRY + abs(centre)
        return self.label_multiplier * most * math.sqrt(self.terms.sketch_size) * _PADDING

    @property
    def theta(self) -> Fraction:
        """Selections weigh a whole-number score s with exp(theta s)."""
        return Fraction(self.choice_epsilon) / (2 * ENTRY * WEIGHT)

    def _event(self, budget: float, asks: int, labels: bool) -> Event:
        if self.terms.epsilon == math.inf:
            return PureDP(math.inf)
        parts: list[Event] = [Gaussian(self.sketch_sigma / math.sqrt(budget))]
        if labels:
            parts += [Gaussian(self.label_multiplier * SUM_FACTOR), Gaussian(self.label_multiplier)]
        return Composed((*parts, Repeated(BoundedRange(self.choice_epsilon), asks)))


@lru_cache(maxsize=16)
def plan_of(terms: Terms) -> FederatedPlan:
    """The noise that spends a job's epsilon and delta.

    >>> from dplasso.federated import agree
    >>> bounds = dict(x_bounds={"a": 1.0, "b": 1.0}, y_bound=1.0)
    >>> terms = agree({"a": 3, "b": 4}, "a", n_rows=1000, epsilon=1.0, delta=1e-6, **bounds)
    >>> round(zcdp.epsilon_of(zcdp.rho(plan_of(terms).event), terms.delta), 9)
    1.0
    """
    asks = Sampling(terms).asks()
    if terms.epsilon == math.inf:
        return FederatedPlan(terms, asks, 0.0, 0.0, math.inf)
    # No privacy is so strict that it leaves nothing to divide by.
    rho = max(zcdp.rho_of(terms.epsilon, terms.delta) * (1.0 - 1e-12), sys.float_info.min)
    budget = math.fsum(party.row_budget for party in terms.parties)
    choices = selection_share(sum(party.n_features for party in terms.parties)) * rho
    labels = LABEL_SHARE * (rho - choices)
    plan = FederatedPlan(
        terms,
        asks,
        sketch_sigma=math.sqrt(budget / (2.0 * (rho - choices - labels))),
        label_multiplier=math.sqrt((1.0 + SUM_FACTOR**-2) / (2.0 * labels)),
        choice_epsilon=math.sqrt(8.0 * choices / max(1, sum(asks.values()))),
    )
    _check_noise(plan)
    return plan


def _check_noise(plan: FederatedPlan) -> None:
    features = plan.sum_noise, plan.sketch_noise
    labels = plan.label_sum_noise, plan.label_sketch_noise(0), plan.label_sketch_noise(ENTRY)
    if not all(LEAST_NOISE <= noise <= MOST_NOISE for noise in (*features, *labels)):
        raise ValueError(
            f"epsilon={plan.terms.epsilon:g} asks for noise too small or too large to be drawn; "
            "choose another, or other row budgets"
        )


def selection_share(n_features: int) -> float:
    """Of rho, for selections. The best of D features is told from the others where scores differ by
    ln(2 D) / epsilon, and a selection's rho is the square of its epsilon.

    >>> round(selection_share(120), 3), round(selection_share(40_000), 3)
    (0.048, 0.204)
    """
    return min((math.log(2 * n_features) / _SELECTION) ** 2, _MOST_SELECTION)


def centre_of(total: int, n_rows: int) -> int:
    """The mean that a released sum suggests, within the bound on entries: public."""
    return max(-ENTRY, min(round(total / n_rows), ENTRY))
