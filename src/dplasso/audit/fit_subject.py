"""Subjects that are fitted to a whole table, by any solver."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from itertools import cycle, islice
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplasso.audit import account, statistics, synthetic
from dplasso.audit.access import rows_counted, solver_of, with_bits
from dplasso.audit.bounds import by_column, ranges_by_column, sizes_by_column
from dplasso.audit.certify import Claims
from dplasso.audit.reference import (
    AS_IS,
    BLEND,
    LOGISTIC,
    NOBODY,
    PRESENCE,
    SOFTMAX,
    SQRT,
    SQUARED,
    Facts,
    Table,
)
from dplasso.audit.representation.holders import FitHolder, Holder
from dplasso.audit.session import Session
from dplasso.audit.subject import TABLES, Attack, Charged, Scored, Subject
from dplasso.base.arrays import Floats, Ints
from dplasso.fitting.private_bound import UnboundedTask, is_asked
from dplasso.losses import loss_of_classes
from dplasso.mechanisms.random_bits import random_bits
from dplasso.privacy.events import Event

_MEASURES = {"rho": statistics.rho_between, "mu": statistics.mu_between}
RELEASED = 1.0  # the value assumed for a released bound
DECLARED_ROWS = 1000  # used where the number of rows matters and was not declared
WIDE = 1100  # columns, so many that ``solver="auto"`` may choose a few


class Ratios(NamedTuple):
    """Log-likelihood ratios of runs, runs x scores.

    ``squares`` are squared distances of the two laws, in noise standard deviations.
    """

    by_score: Floats
    squares: Floats | None = None


class FitSubject(Subject):
    """A configuration of an estimator that is fitted to a table."""

    facts: Facts
    # The quantity to which the solver is calibrated; epsilon is a function of it.
    calibrated_to: ClassVar[str] = "rho"
    canary_batch: ClassVar[int] = 1 << 30  # runs whose releases are in memory at a time

    @classmethod
    def takes(cls, estimator: Any) -> bool:
        return isinstance(estimator, TABLES) and cls.solver == solver_of(
            estimator, DECLARED_ROWS, WIDE
        )

    def others(self) -> Iterator[tuple[str, dict[str, Any]]]:
        yield from super().others()
        for row_map in (AS_IS, PRESENCE, SQRT, BLEND):
            if row_map != self.facts.row_map:
                yield f"row map {row_map}", {"row_map": row_map}
        if not self.facts.of_people:
            yield "people", self.for_people(2)

    # How tables are given to a fit.

    def model_for(self, columns: int, **parameters: Any) -> Any:
        """A fresh estimator for this many columns: bounds by column repeat from the first."""
        model = self.copy(**parameters)
        if (bounds := by_column(model.x_bound)) and columns != len(bounds):
            model.set_params(x_bound=list(islice(cycle(bounds), columns)))
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

    def data(self, X: Any, y: Floats, people: Ints | None = None) -> tuple[Any, ...]:
        """Rows, labels and identifiers as `fit` takes them."""
        return self.given(X), self.labels(y), self.identifiers(len(y), people)

    def identifiers(self, rows: int, people: Ints | None = None) -> NDArray[Any] | None:
        """Identifiers of people, if people are protected; None for rows that are nobody's.

        Without ``people``, everyone has one row.
        """
        if not self._model.protects_people:
            return None
        found = (np.arange(rows) if people is None else people).astype(object)
        found[found == NOBODY] = None
        return found

    def prepare(self, X: Any, y: Floats, people: Ints | None = None) -> Any:
        """A fit up to its first draw, or after the draw of a released bound."""
        rows, *more = self.data(X, y, people)
        task = self.model_for(rows.shape[1]).prepare(rows, *more)
        return task.at(self.facts.x_bound) if isinstance(task, UnboundedTask) else task

    def fitted(self, table: Table, seed: int) -> Any:
        """An estimator fitted as by a user, except that its bits are seeded."""
        rows, *more = self.data(*table)
        model = with_bits(self.model_for(rows.shape[1]), lambda: random_bits(seed))
        return model.fit(rows, *more)

    # Questions of the checks.

    @abstractmethod
    def usual_rows(self, rng: np.random.Generator) -> Table:
        """Ordinary rows and labels, with labels of all classes."""

    def charged(self, rng: np.random.Generator) -> Charged:
        rows, *more = self.data(*self.usual_rows(rng))
        return Charged.of(self.model_for(rows.shape[1]), rows, *more)

    def terms(self, statement: Mapping[str, Any]) -> dict[str, Any]:
        return {**super().terms(statement), "unit": self.facts.unit}

    def charged_cost(self, event: Event) -> float:
        """The cost in zCDP, as in ledgers."""
        return account.rho_of_event(event)

    def epsilon_of(self, cost: float) -> float:
        return account.epsilon_at(cost, self.facts.delta)

    @property
    def claims(self) -> Claims:
        facts, name = self.facts, self.calibrated_to
        return {
            "epsilon": (lambda p, q: statistics.epsilon_between(p, q, facts.delta), facts.epsilon),
            name: (_MEASURES[name], getattr(facts, name)),
        }

    @abstractmethod
    def canary_rows(self) -> synthetic.Neighbours:
        """Two neighbours, of which one has a canary."""

    @abstractmethod
    def released(self, prepared: Any, runs: int, session: Session[Any]) -> Any:
        """The releases of ``runs`` runs of a fit."""

    @abstractmethod
    def log_ratios(self, tables: synthetic.Neighbours, prepared: Any, released: Any) -> Ratios:
        """Log-likelihood ratios of releases with the canary to without, by the reference.

        ``tables`` have raw rows and labels; ``prepared`` is either of their fits.
        """

    def attack(self, session: Session[Any]) -> Attack:
        """Fits with the canary and without it, scored by the subject's own reference."""
        tables = self.canary_rows()
        fits = [self.prepare(*table) for table in tables]

        def scores(side: int, runs: int, session: Session[Any]) -> Scored:
            found, firsts = list[Ratios](), range(0, runs, self.canary_batch)
            for k, first in enumerate(firsts):
                count, part = min(self.canary_batch, runs - first), session.part(k, len(firsts))
                released = self.released(fits[side], count, part)
                found.append(self.log_ratios(tables, fits[0], released))
            squares = [ratios.squares for ratios in found if ratios.squares is not None]
            details: dict[str, Any] = {}
            if squares:
                details["mu_of_the_row"] = float(np.sqrt(np.concatenate(squares).mean()))
            # Equal releases must have equal scores, whatever the order of summation was.
            return np.round(np.concatenate([ratios.by_score for ratios in found]), 9), details

        return scores

    @abstractmethod
    def held(self, task: Any) -> list[Floats]:
        """Everything that sums and draws use, as one row of numbers per row of the table."""

    def holders(self) -> list[Holder]:
        return list(FitHolder.of_variations(self))

    def rows_at_least(self, rows: int) -> int:
        """Number of rows of a table whose size the audit may choose."""
        return rows

    def labels(self, y: Floats) -> NDArray[Any]:
        """Labels as the estimator takes them; numbers are given without their public middle."""
        return super().labels(y if self.classifies else y + sum(self._label_ends()) / 2.0)

    # Parts of a configuration.

    def for_people(self, rows_per_person: int) -> dict[str, int]:
        """Parameters of the same fit to as many people as there are rows, or people."""
        people = rows_counted(self._model, 0) // int(self._model.rows_per_person)
        return {
            "n_people": people,
            "n_rows": rows_per_person * people,
            "rows_per_person": rows_per_person,
        }

    def _label_ends(self) -> tuple[float, float]:
        y_bound: Any = getattr(self._model, "y_bound", 1.0)
        low, high = y_bound if np.ndim(y_bound) else (-y_bound, y_bound)
        return float(low), float(high)

    def _fix_row_map(self, row_map: str) -> None:
        if self._model.row_map == "auto":
            self._model.set_params(row_map=row_map)
            if row_map == PRESENCE:
                self.notes.append(
                    "row_map='auto' is presence or the root of entries: the audit takes presence"
                )

    def _fix_bounds(self) -> None:
        """Reduce bounds by column to a few, from the smallest to the largest."""
        x_bound = self._model.x_bound
        if is_asked(x_bound):
            return
        for name in ("x_bound", "y_bound"):
            if getattr(self._model, name, 1.0) is None:
                self._model.set_params(**{name: 1.0})  # as in a fit
        given = by_column(list(x_bound.values()) if isinstance(x_bound, Mapping) else x_bound)
        if not given:
            return
        # Numbers before pairs, so that both are picked if there are both.
        rising = sorted(given, key=lambda bound: (isinstance(bound, tuple), bound))
        picked = np.linspace(0, len(rising) - 1, self.columns).round().astype(np.int64)
        self._model.set_params(x_bound=[rising[place] for place in picked])
        if len(rising) != self.columns:
            self.notes.append(f"of {len(rising)} bounds on columns, {self.columns} are audited")

    def _fix_n_rows(self) -> None:
        """Declare how many rows there are; of people, as how many rows they count."""
        model = self._model
        name = "n_people" if model.protects_people else "n_rows"
        if getattr(model, name) is None:
            model.set_params(**self.declaring(DECLARED_ROWS))
            self.notes.append(f"{name} is not declared: the audit takes {DECLARED_ROWS}")
        elif model.n_rows is None:
            model.set_params(n_rows=model.rows_per_person * model.n_people)

    def declaring(self, rows: int) -> dict[str, int]:
        """Parameters by which all rows together are declared to count as so many."""
        return {"n_rows": rows, **({"n_people": rows} if self._model.protects_people else {})}

    def _common_facts(self) -> dict[str, Any]:
        """The facts that all solvers have."""
        model, kind, slope = self._model, SQUARED, None
        if self.classifies and model.loss == LOGISTIC:
            kind = LOGISTIC if self.outputs == 1 else SOFTMAX
        elif self.classifies:
            kind, slope = model.loss, loss_of_classes(model.loss, self.classes.tolist()).gradient
        x_bound = RELEASED if is_asked(model.x_bound) else model.x_bound
        sizes = sizes_by_column(x_bound)
        bounds = np.array(sizes) if sizes else None
        low, high = self._label_ends()
        y_bound = (high - low) / 2.0
        residual = getattr(model, "residual_bound", "auto")
        unit = "row" if model.person is None else f"person: {model.person}"
        unit = "person" if model.protects_people and model.person is None else unit
        weights = getattr(model, "class_weight", None)
        return {
            "loss": kind,
            "slope": slope,
            "outputs": self.outputs,
            "epsilon": float(model.epsilon),
            "delta": float(model.delta),
            "neighboring": model.neighboring,
            "unit": unit,
            "rows_per_person": int(model.rows_per_person),
            "class_weights": weights
            and np.array([float(weights[label]) for label in self.classes.tolist()]),
            "row_map": model.row_map,
            "x_bound": float(x_bound) if bounds is None else float(bounds.max()),
            "bounds": bounds,
            "centred": ranges_by_column(x_bound),
            "y_bound": y_bound,
            "y_middle": (low + high) / 2.0,
            "residual_bound": y_bound if residual == "auto" else float(residual),
        }
