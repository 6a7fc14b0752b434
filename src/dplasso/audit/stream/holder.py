"""A short stream as a holder of rows."""

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from dplasso.audit.representation.holder import Holder, as_bytes, named, quietly
from dplasso.base.arrays import Floats

if TYPE_CHECKING:
    from dplasso.audit.stream.subject import StreamSubject

_STEPS = 8


class StreamHolder(Holder):
    """A short stream that learns in several calls."""

    def __init__(self, subject: "StreamSubject", parameters: dict[str, Any]) -> None:
        self._subject, self._parameters = subject, parameters
        self.columns, self.rows = subject.columns, _STEPS * subject.rows_per_step
        self.named = named(parameters)

    def released(self, X: Any, y: Any, seed: int) -> dict[str, bytes]:
        model = self._subject.begun(self.columns, seed, **self._parameters).model
        with quietly():
            model.partial_fit(X, y)
        names = ("coef_", "intercept_", "privacy_")
        return {name: as_bytes(getattr(model, name)) for name in names}

    def held(self, X: Any, y: Any) -> Floats:
        stream = self._subject.begun(self.columns, 0, **self._parameters)
        with quietly():
            (starts, columns, values), labels = stream.batch(X, y)
        shape = (len(starts) - 1, self.columns + 1)
        return np.column_stack(
            [sp.csr_array((values, columns, starts), shape=shape).toarray(), labels]
        )
