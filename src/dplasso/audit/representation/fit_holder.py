"""Fits as holders of rows."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from dplasso.audit.access import with_bits
from dplasso.audit.facts import AS_IS, BLEND, SQRT
from dplasso.audit.representation.holder import Holder, as_bytes, named, quietly
from dplasso.audit.representation.rows import USED
from dplasso.base.arrays import Floats
from dplasso.data import ColumnMatrix
from dplasso.data.unit_rows import UnitRows
from dplasso.fitting.private_bound import UnboundedTask, is_asked
from dplasso.mechanisms.random_bits import random_bits

if TYPE_CHECKING:
    from dplasso.audit.fit_subject import FitSubject

_ROWS = 40
_RELEASED = ("coef_", "intercept_", "vertices_", "n_iter_", "solver_", "rows_")
_BETWEEN = (2.7, 0.1, 1.0 / 3.0, 1.1)  # bounds that are not exact in single precision


class FitHolder(Holder):
    """A fit by any of the solvers, with some parameters changed."""

    def __init__(self, subject: "FitSubject", parameters: dict[str, Any]) -> None:
        self._subject, self._parameters = subject, parameters
        self.columns = subject.given_columns
        self.rows, self.named = subject.rows_at_least(_ROWS), named(parameters)
        model = self.model()
        if model.rows == AS_IS and not is_asked(model.x_bound):
            self.own_bound = model.x_bound
            self.bound = float(np.max(model.x_bound))

    @classmethod
    def of_variations(cls, subject: "FitSubject") -> Iterator["FitHolder"]:
        """The configuration itself, then others that differ in bounds and maps of rows."""
        by_column = np.resize([0.1, 1.1, 2.7], subject.given_columns).tolist()
        # Kinds of rows alternate: the first, fourth and seventh configurations get rows of 0 and 1.
        configurations: list[dict[str, Any]] = [
            {},
            {"rows": SQRT, "x_bound": _BETWEEN[1]},
            {"rows": BLEND, "x_bound": _BETWEEN[2]},
            {"rows": AS_IS, "x_bound": _BETWEEN[0]},
            {"rows": AS_IS, "x_bound": by_column},
            {"rows": AS_IS, "x_bound": "private"},
            {"rows": AS_IS, "x_bound": _BETWEEN[1]},
            {"rows": "auto"},
            {"rows": AS_IS, "x_bound": _BETWEEN[3]},
        ]
        for parameters in configurations:
            yield cls(subject, parameters)

    def model(self) -> Any:
        """A fresh estimator."""
        return self._subject.model_for(self.columns, **self._parameters)

    def fitted(self, X: Any, y: Any, seed: int) -> Any:
        """An estimator fitted with the bits of a seed."""
        model = with_bits(self.model(), lambda: random_bits(seed))
        with quietly():
            return model.fit(X, y)

    def released(self, X: Any, y: Any, seed: int) -> dict[str, bytes]:
        model = self.fitted(X, y, seed)
        known = (name for name in vars(model) if name.endswith("_") and name != "fitted_")
        names = [*_RELEASED, *known]
        return {name: as_bytes(getattr(model, name)) for name in names}

    def held(self, X: Any, y: Any) -> Floats:
        with quietly():
            task = self.model().prepare(X, y)
        if isinstance(task, UnboundedTask):
            return np.column_stack([task.entries[:, :USED].toarray(), task.labels])
        return np.column_stack([*self._subject.held(task), task.labels])


def dense(matrix: ColumnMatrix | UnitRows) -> Floats:
    """The entries as a dense array of the nonempty columns and the last, a constant's column."""
    entries = int(matrix.indptr[-1])
    values = np.ones(entries) if matrix.values is None else matrix.values[:entries]
    found = (values.astype(np.float64), matrix.indices[:entries], matrix.indptr)
    kept = np.unique([*range(min(USED, matrix.shape[1])), matrix.shape[1] - 1])
    dense: Floats = sp.csc_array(found, shape=matrix.shape)[:, kept].toarray()
    return dense
