"""Rows of features by name, one at a time: the interface that river pipelines require."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplasso.base.arrays import Floats
from dplasso.base.interrupts import interrupts_as_raised, raise_interrupt
from dplasso.base.wording import ParameterError
from dplasso.estimators.online_rows import PLAIN
from dplasso.estimators.online_rules import row_form
from dplasso.kernels.stream_rows import one_margin


class RowsByName:
    """Learn from dicts of features; columns must be declared, since no row names all of them."""

    n_features: int | None
    feature_names: Sequence[str] | None
    stream_: Any

    @abstractmethod
    def _begin(self, columns: int) -> None:
        """Begin a new stream."""

    @abstractmethod
    def check_parameters(self) -> None:
        """Reject invalid parameters before any row is read."""

    @abstractmethod
    def encode(self, y: NDArray[Any]) -> Floats:
        """Encode labels as numbers."""

    @abstractmethod
    def decide(self, margins: Floats) -> NDArray[Any]:
        """Turn margins into predictions."""

    def _declare_usual(self) -> None:
        """Declare defaults for facts that rows by name cannot supply."""

    def learn_one(self, x: Mapping[Any, Any], y: Any) -> None:
        """Learn from one row of features by name, as in river.

        Parameters
        ----------
        x : mapping
            Values of features by name.
        y : object
            The label of the row.
        """
        stream = self.__dict__.get("stream_")
        if stream is None:
            with np.errstate(all="ignore"):  # else numpy may raise or warn depending on the row
                self._meet([x], [y])
            stream = self.stream_
        label = stream.known_labels.get(y) if type(y) in PLAIN else None
        if label is None:
            label = self._encode_one(y)
        try:
            stream.learn_one(stream.form.entries(x), label)
        except SystemError as error:
            raise_interrupt(error)

    def _encode_one(self, y: Any) -> float:
        """Encode one label as a number."""
        with np.errstate(all="ignore"):
            return float(self.encode(np.array([y]))[0])

    def predict_one(self, x: Mapping[Any, Any]) -> Any:
        """Predict one row of features by name, as in river."""
        return self.decide(self._margins_one(x)).tolist()[0]

    def begin(self) -> None:
        """Start a stream before its first row: check all parameters, and charge the accountant.

        ``n_features`` or ``feature_names`` must be declared. A stream that has begun is unchanged.
        """
        self._meet((), ())

    def _margins_one(self, x: Mapping[Any, Any]) -> Floats:
        if "stream_" not in vars(self):
            self._meet([x], ())
        form = self.stream_.form
        with interrupts_as_raised():
            found: Floats = self.stream_.margins(form.of_entries(form.entries(x)))
        return found

    def _margin_one(self, x: Mapping[Any, Any]) -> float:
        """The margin of a model with one output: the same as `_margins_one`, faster."""
        stream = self.__dict__.get("stream_")
        if stream is not None and (weights := stream.only_weights) is not None:
            form = stream.form
            places, values = form.entries(x)
            columns, unit, rest, share = form.facts
            try:
                margin: float = one_margin(places, values, columns, unit, rest, share, weights)
            except SystemError as error:
                raise_interrupt(error)
            if margin == margin:
                return margin
        return float(self._margins_one(x)[0, 0])  # also raises the error of a row that is not fine

    def _meet(self, rows: Sequence[Mapping[Any, Any]], labels: Sequence[Any]) -> None:
        """Check these rows, then begin a stream, whose columns must be declared."""
        self._declare_usual()
        if "stream_" in vars(self):
            return
        columns = self.n_features if self.feature_names is None else len(self.feature_names)
        if columns is None:
            raise ParameterError(
                "{n_features} or {feature_names} must be declared for rows by name: a number of "
                "buckets that names are hashed to, or the names"
            )
        self.check_parameters()
        row_form(self, columns).of_dicts(rows)
        if labels:
            self.encode(np.array(labels))
        self._begin(int(columns))
