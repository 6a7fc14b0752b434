"""Rows of features by name, one at a time: what a river pipeline asks of its last step."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplasso.base.arrays import Floats
from dplasso.estimators.online_rows import RowForm
from dplasso.estimators.online_run import margins_of
from dplasso.online.stream_learner import Compressed


class RowsByName:
    """What online estimators do with dicts; columns must be declared, as no row tells of all."""

    n_features: int | None
    feature_names: Sequence[str] | None
    # What river asks: whether the model is told labels, and of how many kinds.
    _supervised, _multiclass = True, True
    _form: RowForm
    _weights: Floats

    @abstractmethod
    def _begin(self, columns: int) -> None:
        """A new stream."""

    @abstractmethod
    def _form_of(self, columns: int) -> RowForm:
        """How rows are read."""

    @abstractmethod
    def _check_parameters(self) -> None:
        """Refuse what can be refused before the data are looked at."""

    @abstractmethod
    def _learn(self, rows: Compressed, labels: Floats) -> Floats:
        """Margins of rows, each before it is learned from."""

    @abstractmethod
    def _encoded(self, y: NDArray[Any]) -> Floats:
        """Labels as numbers."""

    @abstractmethod
    def _decided(self, margins: Floats) -> NDArray[Any]:
        """Predictions of margins."""

    def learn_one(self, x: Mapping[Any, Any], y: Any) -> None:
        """Learn from one row of features by name, as in river."""
        self._meet_dicts([x], [y])
        self._learn(self._form.of_dicts([x]), self._encoded(np.array([y])))

    def predict_one(self, x: Mapping[Any, Any]) -> Any:
        """The prediction of one row of features by name, as in river."""
        return self._decided(self._margins_one(x)).tolist()[0]

    def _margins_one(self, x: Mapping[Any, Any]) -> Floats:
        self._meet_dicts([x])
        return margins_of(self._form.of_dicts([x]), self._weights)

    def _meet_dicts(
        self, rows: Sequence[Mapping[Any, Any]] = (), labels: Sequence[Any] = ()
    ) -> None:
        """Begin a stream, whose columns must be declared, once these rows are found sound."""
        if vars(self).get("_run") is None and "_weights" not in vars(self):
            columns = self.n_features
            if self.feature_names is not None:
                columns = len(self.feature_names)
            if columns is None:
                raise ValueError(
                    "n_features or feature_names must be declared for rows by name: a number of "
                    "buckets that names are hashed to, or the names"
                )
            self._check_parameters()
            self._form_of(columns).of_dicts(rows)
            if labels:
                self._encoded(np.array(labels))
            self._begin(columns)
