"""What is audited: a copy of an estimator, and its public numbers."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from dplasso.audit.facts import LOGISTIC, SOFTMAX, SQUARED, Claim, Facts
from dplasso.base.arrays import Floats
from dplasso.estimators import (
    PrivateLassoClassifier,
    PrivateLassoRegressor,
    PrivateOnlineClassifier,
    PrivateOnlineRegressor,
)
from dplasso.fitting import private_bound
from dplasso.fitting.private_bound import UnboundedTask
from dplasso.losses import loss_of_classes

COLUMNS = 12  # of the data that audits make, where nothing asks for more
RELEASED = 1.0  # what a bound that is released is taken to be
DECLARED_ROWS = 1000  # where the number of rows matters and was not declared
ONLINE = (PrivateOnlineClassifier, PrivateOnlineRegressor)
_KINDS = {LOGISTIC: "classifier", SOFTMAX: "multinomial", SQUARED: "regressor"}


class Subject(ABC):
    """A configuration under audit. The estimator itself is copied, never fitted or charged.

    ``weight`` is the part of the time that its checks ask for, beside those of other subjects.
    """

    facts: Claim
    columns = COLUMNS
    # Parameters that no promise depends on, as audits want them.
    _aside: ClassVar[dict[str, Any]] = {"random_state": None, "n_jobs": 1, "verbose": 0}

    def __init__(self, estimator: Any, name: str | None = None, weight: float = 1.0) -> None:
        self.weight = weight
        self.notes: list[str] = []
        self.classifies = is_classifier(estimator)
        self._model = clone(estimator)
        self._model.set_params(**self._aside)
        check_parameters(self._model)
        self.classes = self._declared_classes()
        self._fix_settings()
        self.facts = self._read_facts()
        self.name = name or self._usual_name()

    @abstractmethod
    def _fix_settings(self) -> None:
        """Bounds, rows and whatever else rules choose, chosen once and for all data."""

    @abstractmethod
    def _read_facts(self) -> Claim:
        """The public numbers of the configuration."""

    def copy(self, **parameters: Any) -> Any:
        """A fresh estimator of this configuration."""
        return clone(self._model).set_params(**parameters)

    def task_of(self, model: Any, X: Any, y: Floats) -> Any:
        """A fit up to its first draw; where its bound is released, after that, by the facts."""
        task = model.prepare(X, self.labels(y))
        if isinstance(task, UnboundedTask):
            assert isinstance(self.facts, Facts)
            return task.at(self.facts.x_bound)
        return task

    def labels(self, y: Floats) -> NDArray[Any]:
        """Labels as the estimator takes them, where ``y`` has places of classes."""
        return self.classes[y.astype(np.int64)] if self.classifies else y

    @property
    def outputs(self) -> int:
        """Coefficients a column."""
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

    def _fix_bounds(self) -> None:
        """Bounds by column: a few of them, from the smallest to the largest."""
        x_bound = self._model.x_bound
        if private_bound.is_asked(x_bound):
            return
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

    def _fix_n_rows(self) -> None:
        if self._model.n_rows is None:
            self._model.set_params(n_rows=DECLARED_ROWS)
            self.notes.append(f"n_rows is not declared: the audit takes {DECLARED_ROWS}")

    def _common_facts(self) -> dict[str, Any]:
        """What the facts of either solver have."""
        model, kind, slope = self._model, SQUARED, None
        if self.classifies and model.loss == LOGISTIC:
            kind = LOGISTIC if self.outputs == 1 else SOFTMAX
        elif self.classifies:
            kind, slope = model.loss, loss_of_classes(model.loss, self.classes.tolist()).gradient
        x_bound = RELEASED if private_bound.is_asked(model.x_bound) else model.x_bound
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

    def _usual_name(self) -> str:
        return _KINDS.get(self.facts.loss, f"classifier, {self.facts.loss} loss")

    def to_dict(self) -> dict[str, Any]:
        """As the report has it."""
        return {
            "name": self.name,
            "class": type(self._model).__name__,
            "solver": self._model.solver,
            **self.facts.to_dict(),
            "notes": self.notes,
        }


def check_parameters(model: Any) -> None:
    """Reject parameters that a fit would reject."""
    if isinstance(model, ONLINE):
        model.check_parameters()
    else:
        model.check_parameters()


def refuse(estimator: Any) -> None:
    """What no audit can be made of."""
    if not isinstance(estimator, (PrivateLassoClassifier, PrivateLassoRegressor, *ONLINE)):
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
