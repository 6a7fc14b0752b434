"""What is audited: a copy of an estimator, its public numbers, and its releases, many times."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from dplasso.audit.facts import LOGISTIC, SOFTMAX, SQUARED, Facts
from dplasso.estimators import (
    PrivateLassoClassifier,
    PrivateLassoRegressor,
    Sparsifier,
    frank_wolfe_fit,
)
from dplasso.estimators.frank_wolfe_fit import Task
from dplasso.mechanisms.random_bits import RandomBits

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

COLUMNS = 12  # of the data that audits make, where nothing asks for more
DECLARED_ROWS = 1000  # where the number of rows matters and was not declared


class Subject:
    """A configuration under audit. The estimator itself is copied, never fitted or charged.

    ``weight`` is the part of the time that its checks ask for, beside those of other subjects.
    """

    def __init__(self, estimator: Any, name: str | None = None, weight: float = 1.0) -> None:
        _refuse(estimator)
        self.weight = weight
        self.notes: list[str] = []
        self.classifies = isinstance(estimator, PrivateLassoClassifier)
        self._model = clone(estimator)
        self._model.set_params(random_state=None, n_jobs=1, verbose=0)
        self._model._check_parameters()
        self.classes = self._declared_classes()
        self.sparsifier = self._model.get_params()["sparsify"]
        self.columns = self._enough_columns(COLUMNS)
        self._fix_bounds()
        self._fix_settings()
        self.facts = self._read_facts()
        self.name = name or _name(self.facts)

    def copy(self, **parameters: Any) -> Any:
        """A fresh estimator of this configuration."""
        return clone(self._model).set_params(**parameters)

    def labels(self, y: Floats) -> NDArray[Any]:
        """Labels as the estimator takes them, where ``y`` has places of classes."""
        return self.classes[y.astype(np.int64)] if self.classifies else y

    def prepare(self, X: Any, y: Floats) -> "Prepared":
        """A fit up to its first draw."""
        model = self.copy()
        model._check_parameters()
        return Prepared(model, model._prepare(X, self.labels(y)), self.facts)

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

    @property
    def outputs(self) -> int:
        """Coefficients a column."""
        return len(self.classes) if len(self.classes) > 2 else 1

    def _enough_columns(self, least: int) -> int:
        """Columns that a Sparsifier's own bounds leave room for."""
        columns = least
        while isinstance(self.sparsifier, Sparsifier) and columns < 1 << 20:
            try:
                self.sparsifier.bounds(columns * self.outputs)
                break
            except ValueError:
                columns *= 2
        return columns

    def _fix_bounds(self) -> None:
        """Bounds by column: a few of them, from the smallest to the largest."""
        x_bound = self._model.x_bound
        for name in ("x_bound", "y_bound"):
            if getattr(self._model, name, 1.0) is None:
                self._model.set_params(**{name: 1.0})  # as a fit has it
        if isinstance(x_bound, Mapping):
            x_bound = list(x_bound.values())
        if np.ndim(x_bound) == 0:
            return
        falling = np.sort(np.asarray(x_bound, dtype=np.float64))
        picked = np.linspace(0, len(falling) - 1, self.columns).round().astype(np.int64)
        self._model.set_params(x_bound=falling[picked].tolist())
        if len(falling) != self.columns:
            self.notes.append(f"of {len(falling)} bounds on columns, {self.columns} are audited")

    def _fix_settings(self) -> None:
        """Radius and rounds that rules choose, chosen once: data of all sizes then share them."""
        chosen = [k for k in ("radius", "max_iter") if getattr(self._model, k) == "auto"]
        if not chosen:
            return
        if self._model.n_rows is None:
            self._model.set_params(n_rows=DECLARED_ROWS)
            self.notes.append(f"n_rows is not declared: the audit takes {DECLARED_ROWS}")
        rows = np.zeros((2, self.columns))
        settings = self.copy()._prepare(rows, self.labels(np.arange(2.0))).settings
        self._model.set_params(radius=settings.radius, max_iter=settings.rounds)
        self.notes.append(
            f"by the public rules: radius {settings.radius:g}, {settings.rounds} rounds"
        )

    def _read_facts(self) -> Facts:
        model, kind = self._model, SQUARED
        if self.classifies:
            kind = LOGISTIC if self.outputs == 1 else SOFTMAX
        bounds = None if np.ndim(model.x_bound) == 0 else np.asarray(model.x_bound, np.float64)
        y_bound = float(getattr(model, "y_bound", 1.0))
        residual = getattr(model, "residual_bound", "auto")
        share = 0.0
        if isinstance(self.sparsifier, Sparsifier):
            share = float(self.sparsifier.budget_share)
        return Facts(
            loss=kind,
            outputs=self.outputs,
            epsilon=float(model.epsilon),
            delta=float(model.delta),
            neighboring=model.neighboring,
            rounds=int(model.max_iter),
            radius=float(model.radius),
            x_bound=float(model.x_bound) if bounds is None else float(bounds.max()),
            bounds=bounds,
            intercept=bool(model.fit_intercept),
            y_bound=y_bound,
            residual_bound=y_bound if residual == "auto" else float(residual),
            count_share=share,
            stale=model.selection == "big_step_little_step",
        )

    def to_dict(self) -> dict[str, Any]:
        """As the report has it."""
        selection = self._model.selection
        return {
            "name": self.name,
            "class": type(self._model).__name__,
            "selection": selection,
            **self.facts.to_dict(),
            "notes": self.notes,
        }


class Prepared:
    """A fit that stands before its first draw, and can be drawn from there any number of times."""

    def __init__(self, model: Any, task: Task, facts: Facts) -> None:
        self.model, self.task, self._facts = model, task, facts

    def transcripts(
        self,
        runs: int,
        rounds: int,
        bits: RandomBits,
        tell: Callable[[float], None] | None = None,
    ) -> Ints:
        """What ``runs`` fits release, by the estimator's own walk: outcomes, runs x rounds.

        ``rounds`` are the first of a fit, if not all: those after them make no difference to them.
        """
        task = self.task._replace(bits=bits)
        found = np.empty((runs, rounds), np.int64)
        for run in range(runs):
            frank_wolfe_fit.walk(self.model, task, rounds)
            found[run] = outcomes(self.model.vertices_, self._facts)
            if tell is not None and run % 50 == 49:
                tell((run + 1) / runs)
        return found

    def count(self, bits: RandomBits) -> int:
        """The count that a fit with a Sparsifier releases."""
        kept = frank_wolfe_fit.count_to_keep(self.model, self.task._replace(bits=bits))
        assert kept is not None
        return kept


def outcomes(vertices: Ints, facts: Facts) -> Ints:
    """Released vertices as `dplasso.audit.reference` numbers them."""
    classes = vertices[:, 2] if facts.outputs > 1 else 0
    # A coefficient moves against the sign of its score.
    place: Ints = 2 * (vertices[:, 0] * facts.outputs + classes) + (vertices[:, 1] > 0)
    return place


def _refuse(estimator: Any) -> None:
    if not isinstance(estimator, PrivateLassoClassifier | PrivateLassoRegressor):
        raise ValueError(
            "estimator must be a PrivateLassoClassifier or a PrivateLassoRegressor, got "
            f"{type(estimator).__name__}; leave it out to audit one of each"
        )
    if estimator.solver != "frank_wolfe" or estimator.rows not in ("auto", "as_is"):
        raise ValueError(
            f"estimator has solver={estimator.solver!r} and rows={estimator.rows!r}; the checks "
            "are of solver='frank_wolfe' on rows as they are"
        )
    if isinstance(estimator.x_bound, str):
        raise ValueError(
            f"estimator has x_bound={estimator.x_bound!r}; the checks are of fits with a bound "
            "that is known: pass a copy with a number, such as the one that a fit released"
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


def _name(facts: Facts) -> str:
    return {LOGISTIC: "classifier", SOFTMAX: "multinomial", SQUARED: "regressor"}[facts.loss]
