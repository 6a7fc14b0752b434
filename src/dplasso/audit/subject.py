"""A subject of the audit: a copy of an estimator, its public numbers, and access to its solver.

A check is written once. It asks a subject how to fit neighbours, what a fit releases, what its
noise should be, and what the subject's reference computes, which shares no code with the product.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from dplasso import estimators
from dplasso.audit.account import Recorder
from dplasso.audit.certify import Claims
from dplasso.audit.reference import Claim
from dplasso.audit.representation.holders import Holder
from dplasso.audit.session import Session
from dplasso.base.arrays import Floats, Ints
from dplasso.mechanisms.random_bits import RandomBits
from dplasso.privacy.events import Event

COLUMNS = 12  # of the audit's data, where nothing requires more
TABLES = (estimators.PrivateLassoClassifier, estimators.PrivateLassoRegressor)
STREAMS = (estimators.PrivateOnlineClassifier, estimators.PrivateOnlineRegressor)

Figures = dict[str, tuple[float, float]]  # for each tested quantity: a figure, and its limit
# Runs a fit with the given bits, or with its own, and makes the given call once within it. Returns
# the draws, in order, as integers, and how many of them were made before the call.
Draw = Callable[[RandomBits | None, Callable[[], None]], tuple[Ints, int]]
Scored = tuple[Floats, dict[str, Any]]  # log-likelihood ratios, runs x scores; figures to report
# Runs of a solver with the canary (side 0) or without it (side 1): takes the side, the number of
# runs, and the session whose progress they report.
Attack = Callable[[int, int, Session[Any]], Scored]
Pair = tuple[NDArray[Any], NDArray[Any]]


class Charged(NamedTuple):
    """The statement of a fit, and the charges of it and of a second fit of the estimator."""

    statement: Mapping[str, Any]
    first: Recorder
    second: Recorder

    @classmethod
    def of(cls, model: Any, *data: Any) -> "Charged":
        """Fit an estimator twice, each time with an accountant of its own."""
        first, second = Recorder(), Recorder()
        statement = model.set_params(accountant=first).fit(*data).privacy_
        model.set_params(accountant=second).fit(*data)
        return cls(statement, first, second)


class Again(NamedTuple):
    """Released numbers, each next to the same numbers obtained in another way.

    ``by_parts`` are those of ``fit`` and of the parts of it that other checks repeat. ``elsewhere``
    are those of a fit on other rows that was given the same releases. Both must be equal bit for
    bit. ``rebuilt`` are those of the reference, equal up to rounding. A field is None where a
    solver has no such way. ``more`` are the solver's own figures.
    """

    by_parts: Pair | None = None
    elsewhere: Pair | None = None
    rebuilt: Pair | None = None
    more: Figures = {}


class Subject(ABC):
    """A configuration under audit. The estimator itself is copied, never fitted or charged.

    ``weight`` is the part of the time that its checks request, relative to other subjects.
    ``options`` are the command's options that its estimators take in addition to the common ones;
    ``lacking`` are common ones that they do not take.
    """

    solver: ClassVar[str]
    quick_examples: ClassVar[int | None] = 1  # `examples` used in a quick audit of all solvers
    options: ClassVar[frozenset[str]] = frozenset()
    lacking: ClassVar[frozenset[str]] = frozenset()
    canary_runs: ClassVar[int]  # runs with the canary, and as many without, in a quick audit
    tries: ClassVar[int] = 60  # pairs of neighbours that are compared in a quick audit
    rounding: ClassVar[float] = 1.0 + 1e-12  # limit of ratios that are exact except for a division
    shown_parameters: ClassVar[tuple[str, ...]] = ()  # in the report, in addition to the facts
    facts: Claim
    columns = COLUMNS
    # Parameters on which no promise depends, with the values that audits use.
    _irrelevant: ClassVar[dict[str, Any]] = {
        "random_state": None,
        "n_jobs": 1,
        "device": "cpu",
        "verbose": 0,
    }

    def __init__(self, estimator: Any, name: str | None = None, weight: float = 1.0) -> None:
        self.weight = weight
        self.notes: list[str] = []
        self.classifies = is_classifier(estimator)
        self._model = clone(estimator)
        self._model.set_params(**self._irrelevant)
        self._parameters = tuple(self._model.get_params(deep=False))
        self._model.check_parameters()
        self.classes = self._declared_classes()
        self._fix_settings()
        self.facts = self._read_facts()
        self.name = name or self._usual_name()

    # Which configurations there are.

    @classmethod
    @abstractmethod
    def examples(cls, **parameters: Any) -> list[Any]:
        """Estimators of the solver: a classifier, a regressor, and one of three classes if any."""

    @classmethod
    @abstractmethod
    def takes(cls, estimator: Any) -> bool:
        """Whether this solver would fit the estimator."""

    def others(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Names and parameters of configurations that differ from this one in one respect."""
        for relation in sorted({"add_remove", "replace_one"} - {self._model.neighboring}):
            yield relation, {"neighboring": relation}
        if getattr(self._model, "residual_bound", None) == "auto":
            yield "squared loss", {"residual_bound": math.inf}

    @abstractmethod
    def _fix_settings(self) -> None:
        """Fix bounds, rows and other settings that rules choose, once for all data."""

    @abstractmethod
    def _read_facts(self) -> Claim:
        """The public numbers of the configuration."""

    # Questions that the checks ask every subject.

    @abstractmethod
    def charged(self, rng: np.random.Generator) -> Charged:
        """Two fits of one estimator, each with an accountant of its own."""

    @abstractmethod
    def stated_cost(self, statement: Mapping[str, Any]) -> float:
        """The cost of the releases in a statement, in this solver's unit of cost."""

    @abstractmethod
    def charged_cost(self, event: Event) -> float:
        """The cost of the event that an accountant was charged, in the same unit."""

    @abstractmethod
    def epsilon_of(self, cost: float) -> float:
        """Epsilon at the delta of the claim."""

    @abstractmethod
    def further_costs(self, session: Session[Any], charged: Charged) -> Figures:
        """Further figures of this solver's account, next to the costs of statement and charge."""

    def terms(self, statement: Mapping[str, Any]) -> dict[str, Any]:
        """The values that a statement must contain, by name."""
        facts = self.facts
        asked = {"epsilon": facts.epsilon, "delta": facts.delta, "neighboring": facts.neighboring}
        return {**asked, "secure_rng": True}

    @property
    @abstractmethod
    def claims(self) -> Claims:
        """The claims that a canary can disprove; empty where there is no canary."""

    @abstractmethod
    def attack(self, session: Session[Any]) -> Attack:
        """Neighbours that differ in a canary, and the likelihood ratio of their releases."""

    @abstractmethod
    def again(self, session: Session[Any], k: int) -> Again:
        """A fit, and all its releases obtained in other ways; ``k`` counts the fits."""

    @abstractmethod
    def transcript(self, rng: np.random.Generator) -> Draw:
        """Long fits whose sequences of draws can be compared."""

    @abstractmethod
    def holders(self) -> list[Holder]:
        """The configuration and others, which are given the same rows in many forms."""

    # Shared by all subjects.

    def copy(self, **parameters: Any) -> Any:
        """A fresh estimator of this configuration.

        `clone` would inspect the signature of the class three times, for each of thousands of fits.
        """
        own = {name: getattr(self._model, name) for name in self._parameters}
        return type(self._model)(**own | parameters)

    def labels(self, y: Floats) -> NDArray[Any]:
        """Labels as the estimator takes them; ``y`` has indices of classes."""
        return self.classes[y.astype(np.int64)] if self.classifies else y

    @property
    def outputs(self) -> int:
        """Coefficients per column."""
        return len(self.classes) if len(self.classes) > 2 else 1

    def _declared_classes(self) -> NDArray[Any]:
        if not self.classifies:
            return np.empty(0)
        if self._model.classes is None:
            self._model.set_params(classes=[0, 1])
            self.notes.append(
                "classes are not declared: the audit takes [0, 1]; read from data, they are not "
                "protected"
            )
        return np.unique(np.asarray(self._model.classes))

    def _usual_name(self) -> str:
        kind = "multinomial" if self.outputs > 1 else "classifier"
        if self.facts.slope is not None:
            kind += f", {self.facts.loss} loss"
        return f"{kind if self.classifies else 'regressor'}, {self.solver}"

    def to_dict(self) -> dict[str, Any]:
        """The subject as the report shows it."""
        return {
            "name": self.name,
            "class": type(self._model).__name__,
            "solver": self.solver,
            **self.facts.to_dict(),
            "notes": self.notes,
            **{name: getattr(self._model, name) for name in self.shown_parameters},
        }


class DrawingSubject(Subject):
    """A subject that releases draws by the exponential mechanism."""

    law_tests: ClassVar[int]

    @abstractmethod
    def widest_log_ratios(self, session: Session[Any], k: int) -> dict[str, float]:
        """For two neighbours, the ranges of the log-ratios of a draw's laws over the charge."""

    @abstractmethod
    def law_p_values(self, session: Session[Any]) -> Iterator[tuple[dict[str, float], int]]:
        """Tests of draws against the reference's law, and the number of draws or runs."""


class NoisySubject(Subject):
    """A subject that releases sums with noise."""

    noise_runs: ClassVar[int] = 100

    @property
    @abstractmethod
    def noise_tests(self) -> int:
        """How many p-values `noise_p_values` returns; 0 if this configuration has no noisy sums."""

    @abstractmethod
    def widest_changes(self, session: Session[Any], k: int) -> dict[str, float]:
        """For two neighbours, the distances of exact sums over the charged sensitivity."""

    @abstractmethod
    def noise(self, session: Session[Any], bits: RandomBits | None) -> list[Floats]:
        """The noise of every release of one fit, with the given bits or with its own."""

    @abstractmethod
    def noise_p_values(self, fits: list[list[Floats]]) -> dict[str, float]:
        """Tests of the noise of many fits against its stated law."""


def refuse(estimator: Any) -> None:
    """Reject estimators that cannot be audited."""
    if not isinstance(estimator, (*TABLES, *STREAMS)):
        raise ValueError(
            "estimator must be a PrivateLassoClassifier, a PrivateLassoRegressor, a "
            "PrivateOnlineClassifier or a PrivateOnlineRegressor, got "
            f"{type(estimator).__name__}; leave it out to audit one of each"
        )
    if estimator.accountant is not None:
        raise ValueError(
            "estimator has an accountant, and an audit must spend nobody's budget; pass a copy "
            "with accountant=None"
        )
    if isinstance(estimator.epsilon, float | int) and math.isinf(estimator.epsilon):
        raise ValueError(
            "estimator has epsilon=inf, which promises nothing that could be audited; give a "
            "finite epsilon"
        )
