"""The walk of a stream through an online estimator, which classifier and regressor share."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from dplasso.base import checks
from dplasso.base.arrays import Floats
from dplasso.domains import Domain
from dplasso.estimators import online_rules as rules
from dplasso.estimators import online_saving as saving
from dplasso.estimators.charging import bits_of, charge
from dplasso.estimators.online_by_name import RowsByName
from dplasso.estimators.online_checks import check_parameters, checked
from dplasso.estimators.online_rows import RowForm
from dplasso.estimators.online_run import OnlineRun, margins_of
from dplasso.estimators.online_statement import statement
from dplasso.estimators.seeding import SeedsByName
from dplasso.estimators.validation import checked_rows
from dplasso.losses import Loss
from dplasso.mechanisms.random_bits import RandomBits
from dplasso.online import StreamLearner
from dplasso.online.stream_learner import Compressed
from dplasso.privacy.accountant import Accountant, Receipt
from dplasso.privacy.calibration import Neighboring
from dplasso.privacy.online_statement import OnlineStatement
from dplasso.streams import RunningSum, State
from dplasso.streams.settings import Calibration, Construction, NoiseLaw


class PrivateOnline(SeedsByName, RowsByName, BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn is untyped
    """What the online estimators have in common. See the classifier and the regressor."""

    epsilon: float
    delta: float
    window: int | None
    n_rows: int | None
    batch: int | str
    loss: str
    domain: str | Domain
    radius: float | str
    regularisation: float | str
    start_rows: float | str
    clip: float | str
    learner: str
    construction: Construction
    noise: NoiseLaw
    calibration: Calibration
    rows: str
    fit_intercept: bool
    n_features: int | None
    feature_names: Sequence[str] | None
    neighboring: Neighboring
    accountant: Accountant | None
    random_state: Any
    _run: OnlineRun | None
    _saved: str | None  # where a state is that this model has not learned on from
    _form: RowForm
    _stated: OnlineStatement
    _weights: Floats  # outputs x columns, the intercept's last

    @abstractmethod
    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn from rows in order, as they go on."""

    @abstractmethod
    def _make_loss(self) -> Loss:
        """The loss; a ValueError names the known ones."""

    @abstractmethod
    def _outputs(self) -> int:
        """How many margins a row has."""

    @abstractmethod
    def _own_facts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Bounds and public facts of the statement besides the common ones."""

    def _margin_unit(self) -> float:
        """What a margin of 1 for logistic loss is for this estimator's."""
        return 1.0

    def fit(self, X: Any, y: Any) -> Self:
        """Forget everything, and learn from the rows in order, as a new stream.

        Formal guarantees
        -----------------
        See `partial_fit`. Another stream is another charge.
        """
        for name in [name for name in vars(self) if name.endswith("_") or name in _FITTED]:
            delattr(self, name)
        return self.partial_fit(X, y)

    def predict_then_learn(self, X: Any, y: Any) -> NDArray[Any]:
        """What `predict` says of every row just before the row is learned from.

        They are products with rows and for whom those belong to: a row's prediction is no release.
        """
        return self._decided(self._learn_rows(X, y))

    def _learn_rows(self, X: Any, y: Any) -> Floats:
        X, labels = self._checked(X, y)
        new = vars(self).get("_run") is None
        if new:
            self._check_parameters()
        form = self._form_of(X.shape[1]) if new else self._form
        rows, encoded = form.of_matrix(X), self._encoded(labels)
        self._check_room(len(encoded))
        if new:  # it is charged only now: rows that are refused cost nothing
            self._begin(X.shape[1])
        return self._learn(rows, encoded)

    def _form_of(self, columns: int) -> RowForm:
        unit, intercept = self.rows == "unit", bool(self.fit_intercept)
        return RowForm(columns, unit=unit, intercept=intercept, names=self.feature_names)

    def _learn(self, rows: Compressed, labels: Floats) -> Floats:
        run = vars(self).get("_run")
        if run is None:
            raise ValueError(
                "this model is a copy or was loaded: it predicts, and only the original, or "
                "load_state, goes on learning with its noise; fit starts a new stream"
            )
        assert isinstance(run, OnlineRun)
        self._check_room(len(labels))
        if len(rows[0]) - 1 != len(labels):
            raise ValueError("X and y differ in their number of rows; give one label per row")
        with run.alone():
            if len(labels):
                saving.reclaim(self)
            margins = run.learn(rows, labels)
            self._weights = run.weights
        return margins

    def _room(self) -> float:
        """Rows that the stream still has room for."""
        if self.window is not None or self.n_rows is None:
            return math.inf
        return self.n_rows - self.rows_seen_

    def _check_room(self, rows: int) -> None:
        if rows > self._room():
            raise ValueError(
                f"n_rows must not be exceeded, {self.n_rows} are declared; declare more at the "
                "start, or None for a stream without end"
            )

    def _begin(self, columns: int, state: State | None = None) -> None:
        """A new stream, charged; or the one whose state is given, which is paid for."""
        if "_weights" in vars(self) and state is None:
            self._learn(self._form.of_dicts([]), np.empty(0))  # says what it is
        form = self._form_of(columns)
        outputs, clip = self._outputs(), self._clip()
        dimension = outputs * form.width
        if state is None:
            total = rules.sum_of(self, dimension, clip, self._random_bits())
        else:
            total = RunningSum.from_state(State(state.header["sum"], state.arrays))
            if total.settings.dimension != dimension:
                raise ValueError("state must be of as many columns as the model; it is not")
        plan = rules.plan_of(self, total.settings, self._margin_unit())
        leader, loss = rules.leader_of(self, plan), self._make_loss()
        learner = StreamLearner(leader, loss, total, clip=clip, outputs=outputs)
        run = OnlineRun(learner, total, outputs, rules.rows_a_release(self))
        if state is None:
            self._receipt: Receipt | None = charge(
                self, total.event, float(self.delta), self.neighboring
            )
        else:
            run.resume(state)
        self._run, self._form, self._plan, self._saved = run, form, plan, None
        self.n_features_in_, self._weights = columns, run.weights

    def _random_bits(self) -> RandomBits:
        return bits_of(self)

    def _check_parameters(self) -> None:
        check_parameters(self)

    def _clip(self) -> float:
        """Bound on a row's gradient, over all outputs."""
        if self.clip == "auto":
            return self._margin_unit()
        return checks.bound("clip", self.clip)

    def _checked(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        return checked(self, X, y)

    @property
    def rows_seen_(self) -> int:
        """Rows that were learned from or wait for their batch: a public number."""
        if vars(self).get("_run") is None:
            return int(vars(self).get("_rows_seen", 0))
        assert self._run is not None
        return self._run.rows_learned + self._run.rows_waiting

    @property
    def privacy_(self) -> OnlineStatement:
        """What is promised: `OnlineStatement`."""
        check_is_fitted(self, "_weights")
        if vars(self).get("_run") is None:
            return self._stated
        return statement(self)

    @property
    def coef_(self) -> Floats:
        """Coefficients of rows, scaled as ``rows`` says: outputs x columns."""
        check_is_fitted(self, "_weights")
        return self._weights[:, : self._form.columns] * self._form.shares()

    @property
    def intercept_(self) -> Floats:
        """One an output; 0 without ``fit_intercept``."""
        check_is_fitted(self, "_weights")
        if not self.fit_intercept:
            return np.zeros(len(self._weights))
        return self._weights[:, -1] * self._form.shares()

    def _margins(self, X: Any) -> Floats:
        check_is_fitted(self, "_weights")
        X = checked_rows(self, X, reset=False)
        return margins_of(self._form.of_matrix(X), self._weights)

    def predict(self, X: Any) -> NDArray[Any]:
        """The prediction of every row, by the latest weights."""
        return self._decided(self._margins(X))

    def save(self, path: str | PathLike[str]) -> None:
        """Write a snapshot, public like the weights; `dplasso.load` reads it, to predict."""
        saving.save(self, path)

    def save_state(self, path: str | PathLike[str]) -> None:
        """Write all it takes to go on learning: AS SECRET AS THE ROWS, for its owner's eyes.

        A state is used once. Before this model learns on, it makes the saved state useless; so
        save again before you stop, and after a crash in between start a new stream. A stream that
        must survive crashes is one for ``dplasso online``, which keeps a journal of its rows.

        Formal guarantees
        -----------------
        Of this model and all that load the state, at most one learns on: a state that was learned
        on from, by this model or another, is gone from the disk before the next release. Otherwise
        noise would be the same again beside other rows, and the difference of two releases would
        show them. Copies of the file that somebody made are not known here: see
        docs/sharp_edges.md.
        """
        check_is_fitted(self, "_weights")
        run = vars(self).get("_run")
        if run is None:
            raise ValueError("this model is a copy or was loaded, and has no state to save")
        with run.alone():
            saving.hand_over(self, path)

    def load_state(self, path: str | PathLike[str]) -> Self:
        """Go on from what `save_state` wrote for a model of the same parameters.

        The state is used up: nobody loads it again, whatever becomes of this model.
        """
        known = dict(self.__dict__)
        try:
            saving.take_over(self, path)
        except BaseException:
            self.__dict__ = known
            raise
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles are snapshots: two that go on with one noise would undo it."""
        found: dict[str, Any] = dict(super().__getstate__())
        if found.get("_run") is not None:
            found |= {"_run": None, "_rows_seen": self.rows_seen_, "_stated": self.privacy_}
            del found["_saved"]
        return found

    def __sklearn_is_fitted__(self) -> bool:
        return "_weights" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


_FITTED = ("_run", "_saved", "_weights", "_form", "_plan", "_receipt", "_rows_seen", "_stated")
