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
      To parties that join what they know, it is the person's row at the other parties: their own
      tables are the same in both worlds, since they know them.
    - Released: the upper triangle of M'M plus noise, once, M having a row of whole numbers
      [a_1, ..., a_K, 1, y] per person; without products of labels with labels. Before it, where the
      terms ask for them: the count of common rows (`dplasso.federated.overlap_count`), about how
      many people there are (`dplasso.federated.moments.capacity`), and the means about which rows
      are centred (`dplasso.federated.moments.centring`). Everything else is a function of these. A
      row of M is a function of the person's row and the means.
    - Means: each party adds up its rows, of length B_k at most (``mean_bound``), and counts them.
      A person moves these numbers of all parties by D_1, D_1^2 = sum B_k^2 + 1; a replaced one,
      who may be at other parties than before, by at most sum max(4 B_k^2, B_k^2 + 1). Noise:
      D_1 * ``mean_multiplier``, that of each party on its own numbers.
    - Sensitivity. A row r = [t, y], t having the features and the 1, adds r r'. With the diagonal
      over sqrt(2), what is released moves by D, D^2 = (|r|^4 - |y|^4) / 2 = |t|^2 (|t|^2 + 2 |y|^2)
      / 2. Squared lengths are at most T (`length_of_features`) and L (`length_of_labels`), so that
      D^2 <= T (T + 2 L) / 2. If a row is replaced, the inner product of the two moves is
      (u^2 + 2 u v) / 2, u and v being the inner products of the two t and of the two y. It is at
      least -min(L, T) (2 L - min(L, T)) / 2. So the squared distance is at most (T + L)^2 for
      L <= T, and 4 T L otherwise. All of it in whole numbers: rounding is towards 0 and rows are
      checked after it (`dplasso.federated.moments.rows`).
    - Noise: sigma = D * multiplier. Products of a party's own columns get floor(X) from that party,
      X normal with variance sigma^2, and twice that on the diagonal. Products of columns of two
      parties get such a number of variance sigma^2 / K from each of K parties, and then one of
      variance c sigma^2 / K from the server, before anything is computed from the matrix.
    - The server, which knows its own noise, faces sigma^2 on every entry. Its view is
      (1 / multiplier)-GDP, which `dplasso.privacy.gaussian` converts exactly.
    - c parties see what is computed from the matrix, and know their own noise and tables. Let r_C
      be the person's columns at these parties. Their products are the same in both worlds, so that
      what moves, r r' less r_C r_C', is no longer than D. On all other entries they do not know
      sigma^2 of the noise: that of the owner of a block, or (K - c) sigma^2 / K of parties and
      c sigma^2 / K of the server. So this view is (1 / multiplier)-GDP, too. To j parties,
      sigma^2 (K + c - j) / K are left between blocks; `epsilon_to` splits D^2 accordingly.
    - A sum of several floors is not the floor of a Gaussian. It is within total variation
      sigma exp(-2 pi^2 s^2 / 2), up to a constant, of a Gaussian less independent uniforms,
      rounded: post-processing. Each s is at least 2^12, which makes that less than exp(-10^8).
    - Assumptions: parties follow the protocol, keep their bounds and draw their noise; the server
      adds its own, gives nothing away that is computed without it, and does not collude with a
      party. Server and one party together recover the tables of all.
    - A party that draws no noise counts as one of the c towards other parties and outsiders. The
      server faces (K - s) / K sigma^2 between blocks if s parties draw none, since its own noise
      hides nothing from itself. Products of a silent party's own columns are not protected from
      anyone.
    """

    terms: MomentTerms
    bits: int
    multiplier: float  # of the noise that c parties, or the server, do not know; 0: no privacy
    count: CountPlan = CountPlan()
    capacity: CapacityTest = CapacityTest()
    mean_multiplier: float = 0.0  # of the noise on means; 0: rows are not centred, or no privacy

    @property
    def n_people(self) -> int:
        """The declared number of people."""
        return self.terms.n_people or self.terms.n_rows

    @property
    def has_usual_room(self) -> bool:
        """Whether there is just the room that the noisy test of capacity needs."""
        declared = self.terms.n_people
        return declared > 0 and self.terms.n_rows == declared + self.capacity.room

    @property
    def has_first_part(self) -> bool:
        """Whether something is charged and released before the matrix."""
        return bool(self._before)

    @property
    def entry(self) -> int:
        """An entry at its bound, as a whole number."""
        return 1 << self.bits

    @property
    def label_entry(self) -> int:
        """A label at its bound, as a whole number."""
        return int(Fraction(self.terms.label_weight) * self.entry)

    def row_limit(self, party: str) -> int:
        """Most that the squares of the features of one row of a party may add up to."""
        bound = Fraction(self.terms.parties[self.terms.number_of(party)].row_bound)
        return int(bound * bound * self.entry**2)  # rounded down

    def mean_limit(self, party: str) -> int:
        """The same before rows are centred, where their mean is taken."""
        bound = Fraction(self.terms.parties[self.terms.number_of(party)].mean_bound)
        return int(bound * bound * self.entry**2)

    @property
    def mean_sigma(self) -> float:
        """Standard deviation on sums of rows and on their number, in whole numbers."""
        one, limits = self.entry**2, map(self.mean_limit, self.terms.names)
        moved = (max(4 * of, of + one) if self._replaces else of + one for of in limits)
        return math.sqrt(sum(moved)) * self.mean_multiplier * PADDING

    @property
    def mean_event(self) -> list[Event]:
        """What the means cost."""
        return [Gaussian(self.mean_multiplier)] if self.mean_multiplier else []

    @cached_property
    def length_of_features(self) -> int:
        """T: most that the squares of a row of all parties, and of the 1, add up to."""
        return sum(map(self.row_limit, self.terms.names)) + self.entry**2

    @property
    def length_of_labels(self) -> int:
        """L: most that the squares of the labels of a row add up to."""
        return self.label_entry**2

    @property
    def moved_squared(self) -> Fraction:
        """D^2: the square of the most that a person moves what is opened, exactly."""
        of_features, of_labels = self.length_of_features, self.length_of_labels
        if not self._replaces:
            return Fraction(of_features * (of_features + 2 * of_labels), 2)
        if of_labels <= of_features:
            return Fraction((of_features + of_labels) ** 2)
        return Fraction(4 * of_features * of_labels)

    @property
    def moved_between(self) -> Fraction:
        """What of D^2 is between blocks, if a person is added: products of two parties' columns."""
        holder, of_labels = self.terms.label_holder, self.length_of_labels
        within = Fraction(0)
        for name in self.terms.names:
            own, labels = self.row_limit(name), 0
            if name == holder:
                own, labels = own + self.entry**2, of_labels
            within += Fraction(own * (own + 2 * labels), 2)
        of_features = self.length_of_features
        return Fraction(of_features * (of_features + 2 * of_labels), 2) - within

    @property
    def sigma(self) -> float:
        """Standard deviation that is promised off the diagonal, in whole numbers."""
        return math.sqrt(self.moved_squared) * self.multiplier * PADDING

    @property
    def sigma_on_diagonal(self) -> float:
        """Standard deviation on the diagonal."""
        return self.sigma * _ROOT_2 * PADDING

    @property
    def share_sigma(self) -> float:
        """Standard deviation of each party's noise between blocks."""
        return self.sigma / math.sqrt(len(self.terms.names)) * PADDING

    @property
    def server_sigma(self) -> float:
        """Standard deviation of the server's noise between blocks."""
        return self.share_sigma * math.sqrt(self.terms.colluders) * PADDING

    @property
    def sigma_between(self) -> float:
        """Standard deviation of all noise between blocks."""
        return math.hypot(self.share_sigma * math.sqrt(len(self.terms.names)), self.server_sigma)

    @property
    def event(self) -> Event:
        """What the job costs to c parties together and to the server; this is what is charged.

        With c = 0 a single party faces more than this, ``event_to(1)``.
        """
        return self.event_to(self.terms.colluders)

    @property
    def count_event(self) -> Event:
        """What is released before the matrix: about how many people there are, and share rows."""
        return _composed(*self._before)

    @property
    def model_event(self) -> Event:
        """What means and the matrix cost, as c parties see it."""
        return self._of_model(self.terms.colluders)

    def event_to(self, colluders: int) -> Event:
        """What the job costs to those who know the noise of that many parties."""
        model = self._of_model(colluders)
        return model if isinstance(model, PureDP) else _composed(*self._before, model)

    def _of_model(self, colluders: int) -> Event:
        matrix = self._matrix_to(colluders)
        return matrix if isinstance(matrix, PureDP) else _composed(*self.mean_event, matrix)

    @property
    def epsilon_to_server(self) -> float:
        """Epsilon of what the server opens, at the job's delta."""
        return self._epsilon_of(self.event)

    def epsilon_to(self, colluders: int) -> float:
        """Epsilon to that many parties together, at the job's delta: 0 for outsiders."""
        return self._epsilon_of(self.event_to(colluders))

    def _epsilon_of(self, event: Event) -> float:
        if isinstance(event, PureDP):
            return math.inf
        return gaussian.epsilon_of(gaussian.mu(event), self.terms.delta)

    @property
    def _before(self) -> list[Event]:
        return [*self.count.events(len(self.terms.names)), *self.capacity.events]

    def _matrix_to(self, colluders: int) -> Event:
        if self.multiplier == 0.0 or colluders >= len(self.terms.names):
            return PureDP(math.inf)
        parties, most = len(self.terms.names), self.terms.colluders
        between = Fraction(parties + most - colluders, parties)  # of sigma^2, not known to them
        if self._replaces:  # no split of the distance is exact
            moved = 1 / min(between, Fraction(1))
        else:
            part = self.moved_between / self.moved_squared
            moved = 1 - part + part / between
        return Gaussian(self.multiplier / math.sqrt(moved))

    @property
    def _replaces(self) -> bool:
        return self.terms.neighboring == "replace_one"

    @property
    def largest_sum(self) -> int:
        """Most that an entry of M'M can be, in size."""
        return self.terms.n_rows * (self.length_of_features + self.length_of_labels)

    @property
    def largest_noise(self) -> float:
        """Noise that is never exceeded, but with a chance below 1e-30."""
        return _DEVIATIONS * self.sigma_on_diagonal + len(self.terms.names) + 1

    @property
    def fits(self) -> bool:
        """Whether noise of this size can be drawn, and sums of all rows fit with it."""
        if self.largest_sum >= _MOST_SUM:  # then noise may even be too large for a double
            return False
        noises = [self.share_sigma, self.sigma_on_diagonal]  # the others are between these
        noises += [self.count.noise] if self.count.signs else []
        noises += [self.capacity.noise] if self.capacity.sigma else []
        noises += [self.mean_sigma] if self.mean_multiplier else []
        drawn = all(LEAST_SIGMA <= noise <= MOST_SIGMA for noise in noises)
        fits = self.largest_sum + self.largest_noise < _MOST_SUM
        return fits and (self.multiplier == 0.0 or drawn)


@lru_cache(maxsize=16)
def moment_plan(terms: MomentTerms) -> MomentPlan:
    """Return the plan of a job, on the finest grid on which all sums and noises fit.

    >>> from dplasso.federated.moments.terms import agree_moments
    >>> terms = agree_moments({"a": 3, "b": 4}, "a", n_rows=1000, epsilon=1.0, delta=1e-6)
    >>> plan = moment_plan(terms)
    >>> plan.bits, round(plan.epsilon_to(1), 6), round(plan.epsilon_to(0), 3)
    (16, 1.0, 0.922)
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


def _parts(terms: MomentTerms) -> tuple[float, CountPlan, CapacityTest, float]:
    """Divide the budget: noise of the matrix, of the count, of the test of capacity, of means."""
    if terms.epsilon == math.inf:
        return 0.0, CountPlan(), CapacityTest(), 0.0
    # A conversion may be off in the last place: then the noise is larger, not smaller.
    if terms.account == "exact" and not (terms.n_people or terms.min_overlap or terms.centring):
        multiplier = PADDING / gaussian.mu_of(terms.epsilon, terms.delta)
        return multiplier, CountPlan(), CapacityTest(), 0.0
    if terms.account == "rho":
        rho = zcdp.rho_of(terms.epsilon, terms.delta)
    else:
        rho = gaussian.mu_of(terms.epsilon, terms.delta) ** 2 / 2.0
    rho *= _LESS
    parties, people = len(terms.names), terms.n_people or terms.n_rows
    of_count = rho_of_count(parties, people, terms.min_overlap, rho)
    capacity = capacity_test(people, rho, terms.delta) if terms.n_people else CapacityTest()
    left = rho - of_count - capacity.rho
    of_means = left * terms.centring
    means = 1.0 / math.sqrt(2.0 * of_means) if of_means else 0.0
    matrix = 1.0 / math.sqrt(2.0 * (left - of_means))
    return matrix, count_plan(parties, people, of_count), capacity, means


def _composed(*events: Event) -> Event:
    return events[0] if len(events) == 1 else Composed(events)
