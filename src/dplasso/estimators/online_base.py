"""The steps of learning from a stream that the online classifier and regressor share."""

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from dplasso.base.arrays import Floats
from dplasso.base.interrupts import interrupts_as_raised, raise_interrupt
from dplasso.base.wording import ParameterError
from dplasso.data.rows_of_people import RowsOfPeople
from dplasso.domains import Domain
from dplasso.estimators import online_handover as handover
from dplasso.estimators import online_rules as rules
from dplasso.estimators import online_saving as saving
from dplasso.estimators.charging import bits_of, charge
from dplasso.estimators.export import Exportable
from dplasso.estimators.online_by_name import RowsByName
from dplasso.estimators.online_checks import check_parameters, checked
from dplasso.estimators.online_river import RiverEstimator, register
from dplasso.estimators.online_rows import one_label_of, one_row_of
from dplasso.estimators.online_run import OnlineRun, Snapshot, refuse_rows
from dplasso.estimators.online_statement import statement
from dplasso.estimators.parameters import StoredParameters, reject
from dplasso.estimators.seeding import SeedsByName
from dplasso.estimators.validation import checked_rows
from dplasso.losses import Loss
from dplasso.mechanisms.random_bits import RandomBits
from dplasso.online import StreamLearner
from dplasso.privacy.accountant import Accountant
from dplasso.privacy.calibration import Neighboring
from dplasso.privacy.online_statement import OnlineStatement
from dplasso.storage import ModelFileError
from dplasso.streams import RunningSum, State
from dplasso.streams.settings import Calibration, Construction, NoiseLaw

if TYPE_CHECKING:
    from dplasso.estimators.export.portable import Portable


class PrivateOnline(
    SeedsByName,
    StoredParameters,
    Exportable,
    RowsByName,
    RiverEstimator,
    BaseEstimator,  # type: ignore[misc]  # scikit-learn is untyped
    ABC,
):
    """Base class of `PrivateOnlineClassifier` and `PrivateOnlineRegressor`."""

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
    half_life: float | None
    learner: str
    construction: Construction
    noise: NoiseLaw
    calibration: Calibration
    row_map: str
    fit_intercept: bool
    n_features: int | None
    feature_names: Sequence[str] | None
    neighboring: Neighboring
    accountant: Accountant | None
    random_state: Any
    stream_: OnlineRun | Snapshot

    def _store(self, given: Mapping[str, Any]) -> None:
        super()._store(given)
        register(self)

    @abstractmethod
    def partial_fit(self, X: Any, y: Any, **rejected: Any) -> Self:
        """Continue to learn from rows, in order."""

    @abstractmethod
    def _make_loss(self) -> Loss:
        """Return the loss; for an unknown name, a ValueError lists the known ones."""

    @abstractmethod
    def _outputs(self) -> int:
        """Number of margins per row."""

    @abstractmethod
    def _own_facts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Bounds and public facts of the statement in addition to the common ones."""

    def _margin_unit(self) -> float:
        """Margin of this estimator's loss that corresponds to a margin of 1 of logistic loss."""
        return 1.0

    def fit(self, X: Any, y: Any, **rejected: object) -> Self:
        """Forget everything, and learn from the rows in order as a new stream.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            Rows x columns.
        y : array
            One label per row.
        **rejected : object
            Other arguments of ``fit`` in scikit-learn are rejected.

        Returns
        -------
        self

        Formal guarantees
        -----------------
        See `partial_fit`. Each new stream is charged again.
        """
        reject(rejected, "fit")
        self._check_not_kept()
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        return self.partial_fit(X, y)

    def predict_then_learn(self, X: Any, y: Any) -> NDArray[Any]:
        """Predict every row just before it is learned from, and return the predictions.

        Predictions depend on the rows without noise. They are for the data owner only and must
        not be released.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            Rows x columns.
        y : array
            One label per row.

        Returns
        -------
        ndarray
            One prediction per row, made before the row was learned from.
        """
        return self.decide(self._learn_rows(X, y))

    def _learn_rows(self, X: Any, y: Any) -> Floats:
        # Else numpy may raise or warn depending on the rows.
        with interrupts_as_raised(), np.errstate(all="ignore"):
            return self._learn_checked(X, y)

    def _learn_one_row(self, X: Any, y: Any) -> bool:
        """Learn from one plain row of numbers; False, and nothing happens, if it is not that.

        Rows that need any other check, or an error, are left to `_learn_rows`.
        """
        stream = vars(self).get("stream_")
        if not isinstance(stream, OnlineRun) or "feature_names_in_" in vars(self):
            return False
        entries = one_row_of(X, self.n_features_in_)
        label = one_label_of(y)
        if entries is None or label is None or not np.isfinite(entries[1]).all():
            return False
        try:
            encoded = stream.known_labels.get(label)
            encoded = self._encode_one(label) if encoded is None else encoded
        except ValueError:
            return False
        try:
            stream.learn_one(entries, encoded)  # all finite
        except SystemError as error:
            raise_interrupt(error)
        return True

    def _learn_checked(self, X: Any, y: Any) -> Floats:
        if isinstance(X, RowsOfPeople):
            raise ParameterError(
                "{X} has rows of people, whom a stream does not protect; to protect rows one "
                "by one, encode with person='ignored', or give the column of people the role "
                "identifier"
            )
        X, labels = self._checked(X, y)
        if "stream_" in vars(self):
            return self.stream_.learn(self.stream_.form.of_matrix(X), self.encode(labels))
        self.check_parameters()
        rows, encoded = rules.row_form(self, X.shape[1]).of_matrix(X), self.encode(labels)
        if self._most_rows is not None and len(encoded) > self._most_rows:
            refuse_rows(self._most_rows)
        self._begin(X.shape[1])  # charge only now: rejected rows cost nothing
        return self.stream_.learn(rows, encoded)

    @property
    def _most_rows(self) -> int | None:
        return self.n_rows if self.window is None else None

    def _begin(self, columns: int, saved: saving.SavedState | None = None) -> None:
        """Begin and charge a new stream, or continue from a state, which is already paid for."""
        # A stream continues by the rules that it began with: other weights would make other
        # gradients of the same rows, beside the same noise.
        version = rules.VERSION if saved is None else saved.state.header.get("rules", 1)
        rules.check_version(version)
        form = rules.row_form(self, columns, version)
        outputs, clip = self._outputs(), rules.clip_of(self, self._margin_unit(), version)
        dimension = outputs * form.width
        if saved is None:
            total = rules.sum_of(self, dimension, clip, self._random_bits())
        else:
            state = saved.state
            total = RunningSum.from_state(State(state.header["sum"], state.arrays))
            if total.settings.dimension != dimension:
                raise ValueError("state must be of as many columns as the model; it is not")
        plan = rules.plan_of(self, total.settings, self._margin_unit(), version)
        leader = rules.leader_of(self, plan, total.settings, form, outputs, version)
        loss = self._make_loss()
        stream = OnlineRun(
            StreamLearner(
                leader, loss, total, clip=clip, outputs=outputs, half_life=self.half_life
            ),
            total,
            form,
            plan,
            outputs=outputs,
            batch=rules.rows_a_release(self),
            most_rows=self._most_rows,
            rules=version,
        )
        stream.given = self.get_params(deep=False)
        if saved is None:
            stream.receipt = charge(self, total.event, float(self.delta), self.neighboring)
        else:
            stream.receipt = saved.receipt
            stream.resume(saved.state)
        self.stream_, self.n_features_in_ = stream, columns

    def _random_bits(self) -> RandomBits:
        return bits_of(self)

    def _began_with(self, name: str) -> Any:
        """A parameter as it was when the stream began; before that, as it is."""
        stream = vars(self).get("stream_")
        given = stream.given if isinstance(stream, OnlineRun) else {}
        return given.get(name, getattr(self, name))

    def check_parameters(self) -> None:
        """Reject invalid parameters before any row is read."""
        check_parameters(self)
        self._make_loss()  # rejects an unknown name

    def _checked(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        return checked(self, X, y)

    @property
    def rows_seen_(self) -> int:
        """Number of rows that were learned from or wait for their batch, which is public."""
        return self.stream_.rows_seen if "stream_" in vars(self) else 0

    @property
    def privacy_(self) -> OnlineStatement:
        """Current privacy statement, an `OnlineStatement`."""
        check_is_fitted(self)
        if isinstance(self.stream_, Snapshot):
            return self.stream_.stated
        return statement(self, self.stream_, *self._own_facts())

    @property
    def coef_(self) -> Floats:
        """Coefficients of rows that are scaled as ``row_map`` says: outputs x columns."""
        check_is_fitted(self)
        form = self.stream_.form
        return self.stream_.weights[:, : form.columns] * form.shares()[0]

    @property
    def intercept_(self) -> Floats:
        """One intercept per output; 0 without ``fit_intercept``."""
        check_is_fitted(self)
        if not self.fit_intercept:
            return np.zeros(len(self.stream_.weights))
        return self.stream_.weights[:, -1] * self.stream_.form.shares()[1]

    def _margins(self, X: Any) -> Floats:
        check_is_fitted(self)
        with interrupts_as_raised(), np.errstate(all="ignore"):
            X = checked_rows(self, X, reset=False)
            return self.stream_.margins(self.stream_.form.of_matrix(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict every row with the latest weights.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            Rows x columns.

        Returns
        -------
        ndarray
            One class, or one number, per row.
        """
        return self.decide(self._margins(X))

    def _portable(self) -> "Portable":
        from dplasso.estimators.export.portable import portable_stream

        return portable_stream(self)

    def save(self, path: str | PathLike[str]) -> None:
        """Write a snapshot for predictions, as public as the weights; `dplasso.load` reads it.

        Parameters
        ----------
        path : str or path
            The file to write.
        """
        saving.save(self, path)

    def save_state(self, path: str | PathLike[str]) -> None:
        """Write the state that learning continues from. It is AS SECRET AS THE ROWS.

        A state is used once. Before this model continues to learn, it makes the saved state
        useless. Save again before you stop; after a crash in between, start a new stream. For a
        stream that must survive crashes, use `dplasso.DurableStream`, `dplasso.StreamSession` or
        ``dplasso online``, which keep a journal of the rows.

        Parameters
        ----------
        path : str or path
            The file to write.

        Formal guarantees
        -----------------
        Of this model and all models that load the state, at most one continues to learn: once a
        model has continued from a state, the state is deleted from the disk before the next
        release. Otherwise the same noise would be added to different rows, and the difference of
        two releases would reveal them. Copies of the file are not detected: see
        :doc:`/explanation/sharp_edges`.
        """
        check_is_fitted(self)
        if isinstance(self.stream_, Snapshot):
            raise ValueError("this model is a copy or was loaded, and has no state to save")
        self._check_not_kept()
        with self.stream_.alone():
            handover.hand_over(self.stream_, path, lambda: saving.save_state(self, path))

    def load_state(self, path: str | PathLike[str]) -> Self:
        """Continue from a state that `save_state` wrote for a model with the same parameters.

        The state is used up: it cannot be loaded again, even if this model is lost.

        Parameters
        ----------
        path : str or path
            The file that `save_state` wrote.

        Returns
        -------
        self
        """
        known = dict(self.__dict__)
        try:
            if "saves" in self.resume(path):
                raise ModelFileError(
                    f"{os.fsdecode(path)} belongs to a stream session, whose journal has rows that "
                    "follow it; go on with `dplasso online`, dplasso.StreamSession or "
                    "dplasso.DurableStream, whichever began it"
                )
            assert isinstance(self.stream_, OnlineRun)
            handover.use_up(self.stream_, path)
        except BaseException:
            self.__dict__ = known
            raise
        return self

    def resume(self, path: str | PathLike[str]) -> dict[str, Any]:
        """Continue from a state without using it up, for sessions that journal the rows after it.

        Parameters
        ----------
        path : str or path
            The file that holds the state.

        Returns
        -------
        dict
            Further entries that were saved with the state.

        Formal guarantees
        -----------------
        This method alone guarantees nothing: two streams that continue from one state share their
        noise. The caller must continue with exactly the rows that it journaled, as
        `dplasso.StreamSession` does. Other callers use `load_state`.
        """
        self._check_not_kept()
        with saving.refusing_damage(path):
            saved = saving.read_state(self, path)
            self.check_parameters()
            saved.known.describe(self)
            self._begin(saved.known.n_features, saved)
        return saved.more

    def _check_not_kept(self) -> None:
        """Reject what would put another stream, or another file, in the place of a folder's."""
        stream = vars(self).get("stream_")
        if isinstance(stream, OnlineRun) and stream.recorder is not None:
            raise ValueError(
                "this stream is kept in a folder, which has its state; close it, and continue from "
                "the folder, or begin another stream with a new model"
            )

    def __getstate__(self) -> dict[str, Any]:
        """Copy as a snapshot: two copies sharing a noise key could be subtracted to reveal rows."""
        found: dict[str, Any] = dict(super().__getstate__())
        stream = found.get("stream_")
        if isinstance(stream, OnlineRun):
            found["stream_"] = Snapshot(
                stream.form, stream.weights, stream.rows_seen, self.privacy_, stream.rules
            )
        return found

    def __sklearn_is_fitted__(self) -> bool:
        return "stream_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
