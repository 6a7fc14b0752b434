"""Rows of features by name, one at a time: the interface that river pipelines require."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplasso.base.arrays import Floats
from dplasso.base.wording import ParameterError
from dplasso.estimators.online_rows import check_fine
from dplasso.estimators.online_rules import row_form
from dplasso.estimators.online_run import margins_of
from dplasso.kernels.stream_rows import FINE, one_margin


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
        """Learn from one row of features by name, as in river."""
        if "stream_" not in vars(self):
            with np.errstate(all="ignore"):  # else numpy may raise or warn depending on the row
                self._meet([x], [y])
        stream = self.stream_
        stream.learn_one(stream.form.entries(x), self._encode_one(y))

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
        return margins_of(form.of_entries(form.entries(x), gaps=True), self.stream_.weights)

    def _margin_one(self, x: Mapping[Any, Any]) -> float:
        """The margin of a model with one output: the same as `_margins_one`, faster."""
        if "stream_" not in vars(self):
            self._meet([x], ())
        stream = self.stream_
        form = stream.form
        places, values = form.entries(x)
        found, margin = one_margin(places, values, *form.facts, stream.only_weights)
        if found != FINE:
            check_fine(found)
        return margin  # type: ignore[no-any-return]  # numba is untyped

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
