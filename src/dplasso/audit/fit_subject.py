"""Subjects that are fitted to a whole table, by any solver."""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dplasso.audit.access import solver_of, with_bits
from dplasso.audit.account import epsilon_at, rho_of_event
from dplasso.audit.attack import Attack, Claims
from dplasso.audit.facts import AS_IS, BLEND, LOGISTIC, PRESENCE, SOFTMAX, SQRT, SQUARED, Facts
from dplasso.audit.recorder import Recorder
from dplasso.audit.representation.fit_holder import FitHolder
from dplasso.audit.representation.holder import Holder
from dplasso.audit.session import Session
from dplasso.audit.statistics import epsilon_between
from dplasso.audit.subject import TABLES, Charged, Subject
from dplasso.audit.synthetic import Neighbours, Table
from dplasso.base.arrays import Floats
from dplasso.fitting.private_bound import UnboundedTask, is_asked
from dplasso.losses import loss_of_classes
from dplasso.mechanisms.random_bits import random_bits
from dplasso.privacy.events import Event

RELEASED = 1.0  # the value assumed for a released bound
DECLARED_ROWS = 1000  # used where the number of rows matters and was not declared
WIDE = 1100  # columns, so many that ``solver="auto"`` may choose a few


class Arm(NamedTuple):
    """One of two neighbours: raw rows and labels for the reference, and a fit before its draws."""

    X: Floats
    y: Floats
    prepared: Any


class Ratios(NamedTuple):
    """Log-likelihood ratios of runs, runs x scores.

    ``squares`` are squared distances of the two laws, in noise standard deviations.
    """

    by_score: Floats
    squares: Floats | None = None


class FitSubject(Subject):
    """A configuration of an estimator that is fitted to a table."""

    facts: Facts
    canary_batch: ClassVar[int] = 1 << 30  # runs whose releases are in memory at a time

    @classmethod
    def takes(cls, estimator: Any) -> bool:
        return isinstance(estimator, TABLES) and cls.solver == solver_of(
            estimator, DECLARED_ROWS, WIDE
        )

    def others(self) -> Iterator[tuple[str, dict[str, Any]]]:
        yield from super().others()
        if getattr(self._model, "residual_bound", None) == "auto":
            yield "squared loss", {"residual_bound": math.inf}
        for rows in (AS_IS, PRESENCE, SQRT, BLEND):
            if rows != self.facts.rows:
                yield f"rows {rows}", {"rows": rows}

    # How tables are given to a fit.

    def model_for(self, columns: int, **parameters: Any) -> Any:
        """A fresh estimator for this many columns: bounds by column repeat from the first."""
        model = self.copy(**parameters)
        if np.ndim(model.x_bound) and columns != len(model.x_bound):
            model.set_params(x_bound=np.resize(model.x_bound, columns).tolist())
        return model

    @property
    def given_columns(self) -> int:
        """Number of columns of a table given to the fit."""
        return self.columns

    def given(self, X: Any) -> Any:
        """Rows in the form that the fit is given."""
        return X

    def as_declared(self, table: Table) -> Table:
        """The table with as many rows as the fit requires."""
        return table

    @abstractmethod
    def prepare(self, X: Any, y: Floats) -> Any:
        """A fit up to its first draw."""

    def _started(self, X: Any, y: Floats) -> tuple[Any, Any]:
        """A model and its fit up to its first draw, or after the draw of a released bound."""
        rows = self.given(X)
        model = self.model_for(rows.shape[1])
        task = model.prepare(rows, self.labels(y))
        return model, task.at(self.facts.x_bound) if isinstance(task, UnboundedTask) else task

    def fitted(self, X: Floats, y: Floats, seed: int) -> Any:
        """An estimator fitted as by a user, except that its bits are seeded."""
        rows = self.given(X)
        model = with_bits(self.model_for(rows.shape[1]), lambda: random_bits(seed))
        return model.fit(rows, self.labels(y))

    # Questions of the checks.

    @abstractmethod
    def usual_rows(self, rng: np.random.Generator) -> Table:
        """Ordinary rows and labels, with labels of all classes."""

    def charged(self, rng: np.random.Generator) -> Charged:
        X, y = self.usual_rows(rng)
        rows, labels = self.given(X), self.labels(y)
        first, second = Recorder(), Recorder()
        model = self.model_for(rows.shape[1], accountant=first).fit(rows, labels)
        statement = model.privacy_
        model.set_params(accountant=second).fit(rows, labels)
        return Charged(statement, first, second)

    def charged_cost(self, event: Event) -> float:
        """The cost in zCDP, as in ledgers."""
        return rho_of_event(event)

    def epsilon_of(self, cost: float) -> float:
        return epsilon_at(cost, self.facts.delta)

    @property
    def claims(self) -> Claims:
        delta = self.facts.delta
        epsilon: Claims = {
            "epsilon": (lambda p, q: epsilon_between(p, q, delta), self.facts.epsilon)
        }
        return {**epsilon, **self.own_claim}

    @property
    @abstractmethod
    def own_claim(self) -> Claims:
        """The quantity to which the solver is calibrated; epsilon is a function of it."""

    @abstractmethod
    def canary_rows(self) -> Neighbours:
        """Two neighbours, of which one has a canary."""

    @abstractmethod
    def released(
        self, prepared: Any, runs: int, session: Session[Any], tell: Callable[[float], None]
    ) -> Any:
        """The releases of ``runs`` runs of a fit."""

    @abstractmethod
    def log_ratios(self, arms: Sequence[Arm], released: Any) -> Ratios:
        """Log-likelihood ratios of releases with the canary to without, by the reference."""

    def attack(self, session: Session[Any]) -> Attack:
        return FitAttack(self, session)

    @abstractmethod
    def held(self, task: Any) -> list[Floats]:
        """Everything that sums and draws use, as one row of numbers per row of the table."""

    def holders(self) -> list[Holder]:
        return list(FitHolder.of_variations(self))

    def rows_at_least(self, rows: int) -> int:
        """Number of rows of a table whose size the audit may choose."""
        return rows

    # Parts of a configuration.

    def _fix_rows(self, rows: str) -> None:
        if self._model.rows == "auto":
            self._model.set_params(rows=rows)
            if rows == PRESENCE:
                self.notes.append("rows='auto' is presence for sparse rows: the audit takes that")

    def _fix_bounds(self) -> None:
        """Reduce bounds by column to a few, from the smallest to the largest."""
        x_bound = self._model.x_bound
        if is_asked(x_bound):
            return
        for name in ("x_bound", "y_bound"):
            if getattr(self._model, name, 1.0) is None:
                self._model.set_params(**{name: 1.0})  # as in a fit
        if isinstance(x_bound, Mapping):
            x_bound = list(x_bound.values())
        if np.ndim(x_bound) == 0:
            return
        rising = np.sort(np.asarray(x_bound, dtype=np.float64))
        picked = np.linspace(0, len(rising) - 1, self.columns).round().astype(np.int64)
        self._model.set_params(x_bound=rising[picked].tolist())
        if len(rising) != self.columns:
            self.notes.append(f"of {len(rising)} bounds on columns, {self.columns} are audited")

    def _fix_n_rows(self) -> None:
        if self._model.n_rows is None:
            self._model.set_params(n_rows=DECLARED_ROWS)
            self.notes.append(f"n_rows is not declared: the audit takes {DECLARED_ROWS}")

    def _common_facts(self) -> dict[str, Any]:
        """The facts that all solvers have."""
        model, kind, slope = self._model, SQUARED, None
        if self.classifies and model.loss == LOGISTIC:
            kind = LOGISTIC if self.outputs == 1 else SOFTMAX
        elif self.classifies:
            kind, slope = model.loss, loss_of_classes(model.loss, self.classes.tolist()).gradient
        x_bound = RELEASED if is_asked(model.x_bound) else model.x_bound
        bounds = None if np.ndim(x_bound) == 0 else np.asarray(x_bound, np.float64)
        y_bound = float(getattr(model, "y_bound", 1.0))
        residual = getattr(model, "residual_bound", "auto")
        return {
            "loss": kind,
            "slope": slope,
            "outputs": self.outputs,
            "epsilon": float(model.epsilon),
            "delta": float(model.delta),
            "neighboring": model.neighboring,
            "rows": model.rows,
            "x_bound": float(x_bound) if bounds is None else float(bounds.max()),
            "bounds": bounds,
            "y_bound": y_bound,
            "residual_bound": y_bound if residual == "auto" else float(residual),
        }


class FitAttack(Attack):
    """Fits with the canary and without it, scored by the subject's own reference."""

    def __init__(self, subject: FitSubject, session: Session[Any]) -> None:
        self._subject, self._session = subject, session
        self._arms = [Arm(X, y, subject.prepare(X, y)) for X, y in subject.canary_rows()]
        self._mu: float | None = None

    def scores(self, side: int, runs: int, tell: Callable[[float], None]) -> Floats:
        subject, found = self._subject, list[Ratios]()
        for first in range(0, runs, subject.canary_batch):
            count = min(subject.canary_batch, runs - first)

            def part(share: float, first: int = first, count: int = count) -> None:
                tell((first + share * count) / runs)

            prepared = self._arms[side].prepared
            released = subject.released(prepared, count, self._session, part)
            found.append(subject.log_ratios(self._arms, released))
        squares = [ratios.squares for ratios in found if ratios.squares is not None]
        if squares and side == 0:
            self._mu = float(np.sqrt(np.concatenate(squares).mean()))
        # Equal releases must have equal scores, whatever the order of summation was.
        return np.round(np.concatenate([ratios.by_score for ratios in found]), 9)

    def details(self) -> dict[str, Any]:
        return {} if self._mu is None else {"mu_of_the_row": self._mu}
