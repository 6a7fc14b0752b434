"""`private_score` scores a released model on private rows, for part of a budget."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dplasso import __version__
from dplasso.base import checks
from dplasso.base.arrays import Ints
from dplasso.base.silence import without_sizes
from dplasso.base.wording import ParameterError
from dplasso.data.described import DescribedRows
from dplasso.data.identifiers import people_of
from dplasso.data.rows_of_people import check_people_given
from dplasso.estimators.base import PrivateLasso
from dplasso.estimators.charging import bits_of, charge, check_accountant
from dplasso.estimators.people import MOST_ROWS_PER_PERSON
from dplasso.estimators.seeding import Seed
from dplasso.mechanisms.grid_gaussian import GridGaussian
from dplasso.privacy.accountant import Accountant
from dplasso.privacy.calibration import Neighboring
from dplasso.privacy.events import Gaussian, Repeated
from dplasso.privacy.gaussian import mu
from dplasso.privacy.statement import PrivacyStatement, fact
from dplasso.privacy.unit import ROW, Unit, check_identifier
from dplasso.privacy.zcdp import rho
from dplasso.search.row_scores import NoisyScore, ReleasedSums, RowScores
from dplasso.search.scoring import LEAST_MULTIPLIER, UNIT, counted
from dplasso.solvers.descent_budget import Account, descent_budget

_MOST_MULTIPLIER = 2.0**27  # times the rows of a person: whole numbers of 64 bits hold the noise
CLEAR = 5.0  # standard deviations of its noise that a count must exceed to divide scores
_UP = 1.0 + 1e-12  # rounds the noise up, so that its cost stays below what is charged


@dataclass(frozen=True)
class PrivateScores:
    """The result of `private_score`.

    Attributes
    ----------
    scores : dict of str to NoisyScore
        "accuracy", and for two classes with probabilities also "log_loss"; or "mae" for numbers.
    trivial : dict of str to NoisyScore
        The same scores of a model without columns: for two classes, of always giving the more
        common class, or the shares of the classes as probabilities. Empty otherwise.
    count : NoisyScore
        What all rows count as, by the released counts.
    privacy : PrivacyStatement
        The guarantee of these scores; ``print`` shows it as a paragraph.
    """

    scores: dict[str, NoisyScore]
    trivial: dict[str, NoisyScore]
    count: NoisyScore
    privacy: PrivacyStatement

    @property
    def mean_over(self) -> str:
        """What scores are means over: "rows" or "people"."""
        return "rows" if self.privacy.unit == ROW else "people"

    @property
    def meaning(self) -> str:
        """What scores are means over, and by how many rows, in words."""
        means = "a mean over rows"
        if self.mean_over == "people":
            most = self.privacy["public"]["rows_per_person"]["value"]
            counts = "one row, however many they have" if most == 1 else f"{most:,} rows at most"
            means = f"a mean over people, each of whom counts as {counts}"
        value, noise = max(self.count.value, 0.0), self.count.noise
        told = (
            f"Each score is {means}. All rows count as about {value:,.0f} (noise {noise:.2g}), by "
            "released counts that divide the scores; no number is declared."
        )
        if value < CLEAR * noise:
            told += " That is hardly more than noise: these scores say nothing."
        return told

    def __str__(self) -> str:
        told = [f"{name} {s.value:.4g} (noise {s.noise:.2g})" for name, s in self.scores.items()]
        if self.trivial:
            always = [f"{name} {score.value:.4g}" for name, score in self.trivial.items()]
            told.append(f"the trivial answer has {', '.join(always)}")
        return f"{'; '.join(told)}\n{self.meaning}\n{self.privacy}"


def private_score(
    model: Any,
    X: object,
    y: object,
    *,
    epsilon: float,
    delta: float = 1e-6,
    groups: object = None,
    rows_per_person: int = 1,
    person: str | None = None,
    neighboring: Neighboring = "add_remove",
    accountant: Accountant | None = None,
    random_state: Seed = None,
) -> PrivateScores:
    """Score a model on private test rows, with noise.

    For classes it releases the accuracy, and for two classes with probabilities also the mean
    log-loss, in which no probability of the true class counts as less than 0.01. For numbers it
    releases the mean absolute error, in which labels are clipped to ``y_bound`` and no error counts
    as more than half of that range.

    Parameters
    ----------
    model : fitted PrivateLassoClassifier or PrivateLassoRegressor
        The model, which is taken as public. Predictions of other libraries may depend on other rows
        in their last bits, and are rejected.
    X : array, sparse matrix, frame or DescribedRows
        Rows, as ``model.predict`` takes them. The people of a `DescribedRows` are protected.
    y : array
        One label per row.
    epsilon : float
        Privacy budget of all scores together.
    delta : float, default=1e-6
        Delta of the guarantee.
    groups : array or None, default=None
        One identifier of a person per row, to protect people: see `PrivateLassoClassifier.fit`. A
        model that protects people needs them; ``range(len(y))`` declares that every row belongs to
        another person.
    rows_per_person : int, default=1
        How many rows a person counts as, at most.
    person : str or None, default=None
        What identifies a person, such as the name of a column, for the statement and the ledger.
    neighboring : {"add_remove", "replace_one"}, default="add_remove"
        Neighbouring relation.
    accountant : Accountant or None, default=None
        Accountant to charge before anything is drawn, such as a `dplasso.Budget`.
    random_state : int, Generator, RandomState, RandomBits or None, default=None
        None uses secure randomness. A seed is for tests and warns once.

    Returns
    -------
    PrivateScores
        The scores, each with the standard deviation of its noise, and the privacy statement.

    Formal guarantees
    -----------------
    - Neighbouring: one row added or removed, or one row replaced; with ``groups``, all rows of one
      person.
    - Cost: the scores are (``epsilon``, ``delta``)-DP for the rows of ``X`` and ``y``, given the
      model. What is released is one vector of counts, and the sum of a further loss, if there is
      one (`dplasso.search.row_scores`). A row adds whole numbers to the vector that add up to UNIT,
      none of them negative, so that it moves the vector by at most UNIT in 2-norm; it adds at most
      UNIT to the sum. A person moves both by at most k = ``rows_per_person`` times that. A replaced
      row, or person, moves the vector by at most sqrt(2) times as much, and the sum by no more than
      before. Every number gets `GridGaussian` noise of one standard deviation, s times k UNIT. The
      cost is that of `dplasso.privacy.events.Gaussian` with multiplier s, once for the sum, and for
      the vector once, or twice if rows are replaced. All else is computed from these releases:
      shares, the accuracy, and what a model without columns would score. No number of rows is used.
    - Assumptions: the model was released before, or was made without these rows. If it was fitted
      to them, its own cost is added.
    - What a row adds is a function of that row and the model, to the last bit: rows are first
      brought into one form (`dplasso.data.merging`, in double precision), margins are sums over a
      row's own entries, and functions are evaluated for each row by itself.

    Examples
    --------
    >>> import numpy as np
    >>> from dplasso import PrivateLassoClassifier, private_score
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (4000, 3))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> public = {"classes": [0, 1], "x_bound": 1.0, "n_rows": 2000}
    >>> model = PrivateLassoClassifier(epsilon=3.0, **public).fit(X[:2000], y[:2000])
    >>> found = private_score(model, X[2000:], y[2000:], epsilon=1.0)
    >>> accuracy, trivial = found.scores["accuracy"], found.trivial["accuracy"]
    >>> bool(accuracy.noise < 0.01), bool(accuracy.value > 0.9), bool(trivial.value < 0.6)
    (True, True, True)
    """
    asked = PrivateScore(
        epsilon, delta, rows_per_person, person, neighboring, accountant, random_state
    )
    return without_sizes("the score", lambda: asked.of(model, X, y, groups))


@dataclass
class PrivateScore:
    """What `private_score` was asked for; the ledger names a charge by this class."""

    epsilon: float
    delta: float
    rows_per_person: int
    person: str | None
    neighboring: Neighboring
    accountant: Accountant | None
    random_state: Seed

    def of(self, model: Any, X: Any, y: object, groups: object) -> PrivateScores:
        """See `private_score`. All that may fail comes before the charge."""
        self._check(model)
        if groups is None and isinstance(X, DescribedRows):
            groups = X.groups
        check_people_given(X, groups)
        _check_same_unit(model, groups)
        scored = RowScores.of(model, X, y)
        people, unit = self._people(groups, scored.rows)
        totals = np.array([counted(o, people, unit.rows) for o in scored.added.values()], np.int64)
        noise, event = self._noise(len(scored.others), unit)
        bits, of = bits_of(self), f" of {type(model).__name__}"
        receipt = charge(self, event, self.delta, self.neighboring, of, unit=unit.name)
        with bits.exclusive() as generator:
            noise.add_to(totals, generator)
        # The noise is rounded down, by a half on average.
        values = [(total + 0.5) / UNIT for total in totals.tolist()]
        sums = dict(zip(scored.added, values, strict=True))
        released = ReleasedSums(sums, [*scored.cells], noise.sigma / UNIT)
        public = {"rows_per_person": fact(unit.rows, "given")} if people is not None else {}
        stated = PrivacyStatement(
            model=f"score of a {type(model).__name__}",
            **self._stated(scored, event, unit),
            bounds=scored.bounds,
            public={"model": fact("as it is", "released before"), **public},
            secure_rng=bits.secure,
        )
        if receipt is not None:
            stated["ledger"] = receipt._asdict()
        scores, trivial = released.scores(scored.most), released.trivial(scored.most)
        return PrivateScores(scores, trivial, released.count, stated)

    def _people(self, groups: object, rows: int) -> tuple[Ints | None, Unit]:
        """Whose rows they are, if people are protected, and whom a score protects."""
        if groups is not None:
            people = people_of(groups)
            if len(people) != rows:  # the number of rows may itself be private
                raise ValueError(
                    "X and groups differ in their number of rows; give one identifier per row"
                )
            return people, Unit.of_people(self.rows_per_person, self.person)
        if self.rows_per_person != 1 or self.person is not None:
            raise ParameterError(
                "{rows_per_person} and {person} are for scores that protect people; pass groups, "
                "one identifier per row; left out, single rows are protected"
            )
        return None, Unit()

    def _check(self, model: Any) -> None:
        if not isinstance(model, PrivateLasso):
            raise ParameterError(
                "{model} must be a fitted PrivateLassoClassifier or PrivateLassoRegressor, got "
                "{kind}; of a pipeline pass the last step and the rows that it gets, of a search "
                "best_estimator_",
                kind=type(model).__name__,
            )
        check_is_fitted(model)
        checks.bound("epsilon", self.epsilon)
        checks.probability("delta", self.delta)
        checks.choice("neighboring", self.neighboring, ("add_remove", "replace_one"))
        most = MOST_ROWS_PER_PERSON
        checks.count("rows_per_person", self.rows_per_person, least=1, most=most)
        if self.person is not None:
            check_identifier(self.person)
        check_accountant(self)

    @property
    def _times(self) -> int:
        """How many sums the vector of counts costs as much as: the square of its sensitivity."""
        return 2 if self.neighboring == "replace_one" else 1

    def _noise(self, others: int, unit: Unit) -> tuple[GridGaussian, Repeated]:
        """The noise of each number, and what the counts and ``others`` cost."""
        releases = self._times + others
        account: Account = "gaussian" if self.accountant is None else "zcdp"
        budget = descent_budget(self.epsilon, self.delta, account, 0.0, 1.0)
        multiplier = max(math.sqrt(releases) / budget.mu, LEAST_MULTIPLIER)
        if multiplier * unit.rows > _MOST_MULTIPLIER:
            raise ParameterError("{epsilon} is so small that noise hides any score; raise it")
        sigma = multiplier * UNIT * unit.rows * _UP
        return GridGaussian(sigma), Repeated(Gaussian(multiplier), releases)

    def _stated(self, scored: RowScores, event: Repeated, unit: Unit) -> dict[str, Any]:
        """The part of the statement that says what is promised, by which releases."""
        assert isinstance(event.event, Gaussian)
        multiplier = event.event.noise_multiplier
        told = {f"counts of rows ({'; '.join(scored.cells)})": multiplier / math.sqrt(self._times)}
        told |= {f"a sum over rows, for {name}": multiplier for name in scored.others}
        return {
            "epsilon": float(self.epsilon),
            "delta": float(self.delta),
            "neighboring": self.neighboring,
            "unit": unit.name,
            **({"mu": mu(event)} if self.accountant is None else {"rho": rho(event)}),
            "releases": [
                {
                    "what": what,
                    "mechanism": "Gaussian noise on a grid",
                    "noise_multiplier": relative,
                }
                for what, relative in told.items()
            ],
            "version": __version__,
            "date": datetime.now(UTC).date().isoformat(),
        }


def _check_same_unit(model: PrivateLasso, groups: object) -> None:
    """Reject scores that would protect the rows of people one by one, though the model does not."""
    if groups is None and model.privacy_.unit != ROW:
        raise ParameterError(
            "{model} protects people, and without groups its scores would protect single rows "
            "only; pass groups, one identifier per row (from the command line: score a table whose "
            "{schema} names a person), or groups=range(len(y)) if every row is of another person"
        )
