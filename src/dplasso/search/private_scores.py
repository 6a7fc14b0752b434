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
from dplasso.base.wording import Message, ParameterError
from dplasso.data.described import DescribedRows
from dplasso.data.identifiers import count_people, people_of
from dplasso.data.rows_of_people import check_people_given
from dplasso.estimators.base import PrivateLasso
from dplasso.estimators.charging import bits_of, charge, check_accountant
from dplasso.estimators.people import MOST_PEOPLE, MOST_ROWS_PER_PERSON
from dplasso.estimators.seeding import Seed
from dplasso.fitting.request import Numbers, RowCount, people_count
from dplasso.mechanisms.grid_gaussian import GridGaussian
from dplasso.privacy import leaks
from dplasso.privacy.accountant import Accountant
from dplasso.privacy.calibration import Neighboring
from dplasso.privacy.events import Gaussian, Repeated
from dplasso.privacy.gaussian import mu
from dplasso.privacy.statement import READ, PrivacyStatement, fact
from dplasso.privacy.unit import ROW, Unit, check_identifier
from dplasso.privacy.zcdp import rho
from dplasso.search.row_scores import NoisyScore, RowScores
from dplasso.search.scoring import LEAST_MULTIPLIER, UNIT, counted
from dplasso.solvers.descent_budget import Account, descent_budget

_MOST_MULTIPLIER = 2.0**27  # times the rows of a person: whole numbers of 64 bits hold the noise
_UP = 1.0 + 1e-12  # rounds the noise up, so that its cost stays below what is charged
_WEIGHT = "what all rows count as"  # is released if a person counts as several rows
_COUNT_READ = Message(
    "the number of rows, or of people, is not declared, and a score is divided by it; pass "
    "{n_rows}, or {n_people} if people are protected"
)


@dataclass(frozen=True)
class PrivateScores:
    """The result of `private_score`.

    Attributes
    ----------
    scores : dict of str to NoisyScore
        "accuracy", and of two classes with probabilities "log_loss"; or "mae", of numbers.
    privacy : PrivacyStatement
        The guarantee of these scores; ``print`` shows it as a paragraph.
    """

    scores: dict[str, NoisyScore]
    privacy: PrivacyStatement

    @property
    def mean_over(self) -> str:
        """What scores are means over: "rows" or "people"."""
        return "rows" if self.privacy.unit == ROW else "people"

    @property
    def meaning(self) -> str:
        """What scores are means over, and which number divides the sums, in words."""
        public = self.privacy["public"]
        name = "n_rows" if self.mean_over == "rows" else "n_people"
        most = 1 if name == "n_rows" else public["rows_per_person"]["value"]
        if most > 1:
            return (
                f"Each score is a mean over people, each of whom counts as {most:,} rows at most. "
                "What all rows count as together was released with noise, and divides the sums; a "
                "declared number of people is not used."
            )
        means = "a mean over rows"
        if name == "n_people":
            means = "a mean over people, each of whom counts as one row, however many they have"
        return (
            f"Each score is {means}. The number of {self.mean_over}, {public[name]['value']:,} "
            f"({public[name]['source']}), divides the sums: if it is too large, all scores are too "
            "small."
        )

    def __str__(self) -> str:
        told = [f"{name} {s.value:.4g} (noise {s.noise:.2g})" for name, s in self.scores.items()]
        return f"{', '.join(told)}\n{self.meaning}\n{self.privacy}"


def private_score(
    model: Any,
    X: object,
    y: object,
    *,
    epsilon: float,
    delta: float = 1e-6,
    groups: object = None,
    n_rows: int | None = None,
    n_people: int | None = None,
    rows_per_person: int = 1,
    person: str | None = None,
    neighboring: Neighboring = "add_remove",
    accountant: Accountant | None = None,
    random_state: Seed = None,
) -> PrivateScores:
    """Score a model on private rows, with noise: for test rows that nobody may see.

    Classes: the accuracy, and of two classes with probabilities the mean log-loss, in which no
    probability of the true class counts as less than 0.01. Numbers: the mean absolute error, in
    which labels are clipped to ``y_bound`` and no error counts as more than half of that range.

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
        model that protects people needs them; ``range(len(y))`` says that every row is of another
        person.
    n_rows : int or None, default=None
        Number of rows, as a public fact, by which scores of rows are divided.
    n_people : int or None, default=None
        Number of people, as a public fact, by which scores of people are divided if each of them
        counts as one row.
    rows_per_person : int, default=1
        How many rows of a person count. Above 1, what all rows count as together is released, too.
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
      model. A row has a whole number from 0 to UNIT in each of m sums, a person numbers that add up
      to at most ``rows_per_person`` times UNIT (`dplasso.search.scoring`). So each sum moves by at
      most that much, under both relations. Each gets `GridGaussian` noise of the same multiplier,
      and m such releases have the cost of `dplasso.privacy.events.Gaussian`, m times. All else is
      computed from these sums and from public numbers.
    - Assumptions: the model was released before, or was made without these rows. If it was fitted
      to them, its own cost is added. Declared numbers are not compared with the rows.
    - What a row adds is a function of that row and the model, to the last bit: rows are first
      brought into one form (`dplasso.data.merging`, in double precision), margins are sums over a
      row's own entries, and functions are evaluated for each row by itself.

    Examples
    --------
    >>> from dplasso import PrivateLassoClassifier, private_score
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (4000, 3))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> public = {"classes": [0, 1], "x_bound": 1.0, "n_rows": 2000}
    >>> model = PrivateLassoClassifier(epsilon=3.0, **public).fit(X[:2000], y[:2000])
    >>> found = private_score(model, X[2000:], y[2000:], epsilon=1.0, n_rows=2000)
    >>> accuracy = found.scores["accuracy"]
    >>> round(accuracy.noise, 4), bool(accuracy.value > 0.9)
    (0.003, True)
    """
    asked = PrivateScore(
        epsilon, delta, rows_per_person, person, neighboring, accountant, random_state
    )
    return without_sizes("the score", lambda: asked.of(model, X, y, groups, n_rows, n_people))


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

    def of(
        self,
        model: Any,
        X: Any,
        y: object,
        groups: object,
        n_rows: int | None,
        n_people: int | None,
    ) -> PrivateScores:
        """See `private_score`. All that may fail comes before the charge."""
        self._check(model)
        if groups is None and isinstance(X, DescribedRows):
            groups = X.groups
        check_people_given(X, groups)
        _check_same_unit(model, groups)
        scored = RowScores.of(model, X, y)
        people, unit = self._people(groups, scored.rows, n_people)
        count, public = self._count(people, scored.rows, n_rows, n_people)
        added = dict(scored.added)
        if count is None:
            added[_WEIGHT] = np.full(scored.rows, UNIT, np.int64)
        totals = np.array([counted(own, people, unit.rows) for own in added.values()], np.int64)
        noise, event = self._noise(len(added), unit)
        bits, of = bits_of(self), f" of {type(model).__name__}"
        receipt = charge(self, event, self.delta, self.neighboring, of, unit=unit.name)
        with bits.exclusive() as generator:
            noise.add_to(totals, generator)
        # The noise is rounded down, by a half on average.
        released = [NoisyScore((total + 0.5) / UNIT, noise.sigma / UNIT) for total in totals]
        sums = dict(zip(added, released, strict=True))
        rows = sums[_WEIGHT] if count is None else NoisyScore(float(count), 0.0)
        stated = PrivacyStatement(
            model=f"score of a {type(model).__name__}",
            **self._stated(list(added), event, unit),
            bounds=scored.bounds,
            public={"model": fact("as it is", "released before"), **public},
            secure_rng=bits.secure,
        )
        if receipt is not None:
            stated["ledger"] = receipt._asdict()
        return PrivateScores(scored.scores(sums, rows), stated)

    def _people(self, groups: object, rows: int, n_people: int | None) -> tuple[Ints | None, Unit]:
        """Whose rows they are, if people are protected, and whom a score protects."""
        if groups is not None:
            people = people_of(groups)
            if len(people) != rows:  # the number of rows may itself be private
                raise ValueError(
                    "X and groups differ in their number of rows; give one identifier per row"
                )
            return people, Unit.of_people(self.rows_per_person, self.person)
        if n_people is not None or self.rows_per_person != 1 or self.person is not None:
            raise ParameterError(
                "{n_people}, {rows_per_person} and {person} are for scores that protect people; "
                "pass groups, one identifier per row, or leave them out"
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

    def _count(
        self, people: Ints | None, rows: int, n_rows: int | None, n_people: int | None
    ) -> tuple[int | None, dict[str, Any]]:
        """What scores are divided by, None if that is released, and the public facts behind it."""
        for name, value in (("n_rows", n_rows), ("n_people", n_people)):
            if value is not None:
                checks.count(name, value, least=1, most=MOST_PEOPLE)
        if people is not None and n_rows is not None:
            raise ParameterError(
                "{n_rows} is for scores that protect rows, and these protect people; leave "
                "{n_rows} out, and give {n_people}, which divides scores if everyone counts as one "
                "row"
            )
        if people is None:
            found = RowCount.of(n_rows, rows, self.neighboring)
            facts = {"n_rows": fact(found.value, found.source)}
        elif self.rows_per_person > 1:
            return None, {"rows_per_person": fact(self.rows_per_person, "given")}
        else:
            both = Numbers(rows, count_people(people))
            found, facts = people_count(None, n_people, both, 1, self.neighboring)
        if READ in found.source:
            leaks.report(_COUNT_READ)
        return found.value, facts

    def _noise(self, releases: int, unit: Unit) -> tuple[GridGaussian, Repeated]:
        """The noise of each sum, and what all of them cost."""
        account: Account = "gaussian" if self.accountant is None else "zcdp"
        budget = descent_budget(self.epsilon, self.delta, account, 0.0, 1.0)
        multiplier = max(math.sqrt(releases) / budget.mu, LEAST_MULTIPLIER)
        if multiplier * unit.rows > _MOST_MULTIPLIER:
            raise ParameterError("{epsilon} is so small that noise hides any score; raise it")
        sigma = multiplier * UNIT * unit.rows * _UP
        return GridGaussian(sigma), Repeated(Gaussian(multiplier), releases)

    def _stated(self, sums: list[str], event: Repeated, unit: Unit) -> dict[str, Any]:
        """The part of the statement that says what is promised, by which releases."""
        assert isinstance(event.event, Gaussian)
        release = {
            "mechanism": "Gaussian noise on a grid",
            "noise_multiplier": event.event.noise_multiplier,
        }
        return {
            "epsilon": float(self.epsilon),
            "delta": float(self.delta),
            "neighboring": self.neighboring,
            "unit": unit.name,
            **({"mu": mu(event)} if self.accountant is None else {"rho": rho(event)}),
            "releases": [{"what": f"a sum over rows, for {name}", **release} for name in sums],
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
