"""An online estimator under audit, and streams of it that are short enough to be looked at."""

import warnings
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dplasso.audit.facts import SQUARED
from dplasso.audit.stream.facts import GAMMA, StreamFacts
from dplasso.audit.subject import Subject
from dplasso.base.arrays import Floats, Ints
from dplasso.domains import Domain
from dplasso.online.stream_learner import Compressed
from dplasso.privacy import leaks

WINDOW_STEPS = 16  # releases of a window that is looked at, at most
STEPS = 40  # of a stream: two windows and a half
BATCH = 8  # rows of a release, at most
_CALL = "call"
CALL_ROWS = 3  # of a call, where a call's rows make a release

# Weights from which the released sums can be read: no set that they are drawn into, and a start
# so heavy that margins stay small.
READABLE: dict[str, Any] = {
    "domain": "l2",
    "radius": 1e12,
    "learner": "projection",
    "regularisation": 1.0,
    "start_rows": 100.0,
}


class StreamSubject(Subject):
    """A configuration of an online estimator."""

    facts: StreamFacts
    _aside: ClassVar[dict[str, Any]] = {"random_state": None, "n_features": None}

    @property
    def norm(self) -> int:
        """By which costs of this noise add up."""
        return 1 if self.facts.noise == GAMMA else 2

    @property
    def short_window(self) -> int | None:
        """Releases that protect a row of a short stream."""
        window = self._short["window"]
        return None if window is None else window // _least(self._short["batch"])

    @property
    def rows_a_step(self) -> int:
        """Rows of a release of a short stream."""
        return _rows(self._short["batch"])

    def begun(self, columns: int, seed: Any = None, **parameters: Any) -> Any:
        """A short stream of this configuration that has not learned from a row."""
        known = {"n_features": columns, "random_state": seed}
        return begun(self.copy(**{**self._short, **known, **parameters}))

    def _fix_settings(self) -> None:
        model = self._model
        if isinstance(model.domain, Domain):
            model.set_params(domain="l2")
            self.notes.append("the set of weights is replaced by a ball: no promise rests on it")
        if model.feature_names is not None:
            model.set_params(feature_names=None)
        if getattr(model, "y_bound", 1.0) is None:
            model.set_params(y_bound=1.0)  # as a stream has it
        self._short = _shortened(model)
        for name, value in self._short.items():
            if value != getattr(model, name):
                self.notes.append(f"streams of the audit have {name} = {value}")

    def _read_facts(self) -> StreamFacts:
        model = self._model
        unit = float(getattr(model, "y_bound", 1.0))
        return StreamFacts(
            loss=model.loss,
            outputs=self.outputs,
            epsilon=float(model.epsilon),
            delta=float(model.delta),
            neighboring=model.neighboring,
            y_bound=unit,
            window=model.window,
            n_rows=model.n_rows,
            batch=_least(model.batch),
            noise=model.noise,
            clip=unit if model.clip == "auto" else float(model.clip),
        )

    def _usual_name(self) -> str:
        kind = "multinomial" if self.outputs > 1 else "classifier"
        return f"{'regressor' if self.facts.loss == SQUARED else kind}, online"

    def to_dict(self) -> dict[str, Any]:
        """As the report has it."""
        name = type(self._model).__name__
        own = {"class": name, "solver": "online", "construction": self._model.construction}
        return {"name": self.name, **own, **self.facts.to_dict(), "notes": self.notes}


def _shortened(model: Any) -> dict[str, Any]:
    """The lengths of a stream that has as many releases as are looked at."""
    short = {"batch": model.batch, "window": model.window, "n_rows": model.n_rows}
    if model.batch != _CALL:
        short["batch"] = min(model.batch, BATCH)
    if model.window is not None:
        steps = min(-(-model.window // _least(model.batch)), WINDOW_STEPS)
        short["window"] = steps * _least(short["batch"])
    if model.n_rows is not None:
        short["n_rows"] = STEPS * _rows(short["batch"])
    return short


def _least(batch: Any) -> int:
    """Rows of a release, at least."""
    return 1 if batch == _CALL else int(batch)


def _rows(batch: Any) -> int:
    """Rows of a release, as audits make them."""
    return CALL_ROWS if batch == _CALL else int(batch)


def begun(model: Any) -> Any:
    """An estimator whose stream has begun, as its first row by name begins it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", leaks.PrivacyLeakWarning)  # seeds of the audit's own
        warnings.simplefilter("ignore", leaks.UndeclaredBoundWarning)
        model.begin()
    return model


def rows_of(model: Any, X: Any, y: NDArray[Any]) -> tuple[Compressed, Floats]:
    """Rows and labels as the learner is handed them, by the estimator's own intake."""
    checked, labels = model._checked(X, y)
    return model.stream_.form.of_matrix(checked), model.encode(labels)


def without(rows: Compressed, place: int) -> Compressed:
    """The same rows with nothing in the place of one."""
    starts, columns, values = rows
    mine = slice(starts[place], starts[place + 1])
    later = np.arange(len(starts)) > place
    shorter = starts - np.where(later, starts[place + 1] - starts[place], 0)
    return shorter, np.delete(columns, mine), np.delete(values, mine)


def exact_sum(model: Any) -> Ints:
    """The sum without noise, in whole numbers, as it stands."""
    found: Ints = model.stream_.total.total.copy()
    return found


def noise_matrix(model: Any, steps: int) -> Floats:
    """Which noises the product says are in its releases: in units of what a row moves."""
    found: Floats = model.stream_.total.noise.noise_matrix(steps)
    return found


def released_sum(model: Any) -> Floats:
    """The sum as the weights tell it, where they are `READABLE`."""
    total = model.rows_seen_ + READABLE["start_rows"]
    found: Floats = -model.stream_.weights.ravel() * total
    return found
