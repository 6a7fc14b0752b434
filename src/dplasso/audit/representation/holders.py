"""Everything that takes rows and releases numbers: fits and streams; parties are in `checks`."""

import json
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dplasso.audit.access import solver_of, with_bits
from dplasso.audit.bounds import has_ranges, sizes_by_column
from dplasso.audit.reference import AS_IS, BLEND, PRESENCE, SQRT
from dplasso.audit.representation.forms import USED
from dplasso.base.arrays import Floats
from dplasso.data import ColumnMatrix
from dplasso.data.unit_rows import UnitRows
from dplasso.fitting.private_bound import UnboundedTask, is_asked
from dplasso.fitting.sparsifier import Sparsifier
from dplasso.mechanisms.random_bits import random_bits

if TYPE_CHECKING:
    from dplasso.audit.fit_subject import FitSubject
    from dplasso.audit.stream.subject import StreamSubject

_ROWS = 40  # given to a fit
_RELEASED = ("coef_", "intercept_", "vertices_", "n_iter_", "solver_", "row_map_")
_BETWEEN = (2.7, 0.1, 1.0 / 3.0, 1.1)  # bounds that are not exact in single precision
# Ranges that hold 0, do not, or end there; of an indicator; and a bound instead of a range.
_RANGES = ((-2.7, 0.1), (1.0, 1.1), 2.7, (0.0, 3.0), (0.0, 1.0))
_STEPS = 8  # of a stream


@contextmanager
def quietly() -> Iterator[None]:
    """Silence warnings about the audit's own rows and seeds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class Holder(ABC):
    """One configuration of something that releases numbers about rows.

    ``named`` is its name, ``columns`` and ``rows`` are the shape of the rows it is given, and
    ``bound`` is the approximate bound on their entries. ``own_bound`` is the bound with which the
    library's own containers hold rows for it, or None where it does not accept them.
    """

    named: str
    columns: int
    rows: int
    bound = 1.0
    own_bound: Any = None

    @abstractmethod
    def released(self, X: Any, y: Any, seed: int) -> dict[str, bytes]:
        """Everything that is released about the rows, with noise fixed by the seed."""

    @abstractmethod
    def held(self, X: Any, y: Any) -> Floats:
        """Rows and labels as they enter the sums, as one row of numbers per row."""


def as_bytes(released: Any) -> bytes:
    """The exact bytes of a released number, array or statement."""
    if isinstance(released, dict):
        return json.dumps(released, sort_keys=True, default=str).encode()
    array: NDArray[Any] = released.toarray() if sp.issparse(released) else np.asarray(released)
    return f"{array.dtype} {array.shape} ".encode() + array.tobytes()


def named(parameters: dict[str, Any]) -> str:
    """A short name for some parameters."""
    return ", ".join(
        f"{name}={'one per column' if isinstance(value, list) else value}"
        for name, value in parameters.items()
    )


class FitHolder(Holder):
    """A fit by any of the solvers, with some parameters changed."""

    def __init__(self, subject: "FitSubject", parameters: dict[str, Any]) -> None:
        self._subject, self._parameters = subject, parameters
        self.columns = subject.given_columns
        self.rows, self.named = subject.rows_at_least(_ROWS), named(parameters)
        model = self.model()
        bounds = sizes_by_column(model.x_bound)
        if model.row_map == AS_IS and not is_asked(model.x_bound):
            self.own_bound = bounds or model.x_bound
            self.bound = float(np.max(self.own_bound))
        self.has_ranges = has_ranges(model.x_bound)

    @classmethod
    def of_variations(cls, subject: "FitSubject") -> Iterator["FitHolder"]:
        """The configuration itself, then others that differ in bounds and maps of rows."""
        by_column = np.resize([0.1, 1.1, 2.7], subject.given_columns).tolist()
        private: dict[str, Any] = {"row_map": AS_IS, "x_bound": "private"}
        if isinstance(subject.copy().n_nonzero, Sparsifier):
            # A bound drawn for so few rows may be huge. The LASSO of a count then takes a second
            # for each fit; all other configurations have the count.
            private["n_nonzero"] = None
        # Kinds of rows alternate: the first, fourth and seventh configurations get rows of 0 and 1.
        configurations: list[dict[str, Any]] = [
            {},
            {"row_map": SQRT, "x_bound": _BETWEEN[1]},
            {"row_map": BLEND, "x_bound": _BETWEEN[2]},
            {"row_map": AS_IS, "x_bound": _BETWEEN[0]},
            {"row_map": AS_IS, "x_bound": by_column},
            private,
            {"row_map": AS_IS, "x_bound": _BETWEEN[1]},
            {"row_map": "auto"},
            {"row_map": AS_IS, "x_bound": _BETWEEN[3]},
            {"row_map": AS_IS, "x_bound": [*islice(cycle(_RANGES), subject.given_columns)]},
            {"row_map": PRESENCE, "x_bound": [*islice(cycle(_RANGES), subject.given_columns)]},
        ]
        for parameters in configurations:
            holder = cls(subject, parameters)
            # With ranges, "auto" may choose another solver than the one that is audited.
            if solver_of(holder.model(), holder.rows, holder.columns) == subject.solver:
                yield holder

    def model(self) -> Any:
        """A fresh estimator."""
        return self._subject.model_for(self.columns, **self._parameters)

    def fitted(self, X: Any, y: Any, seed: int) -> Any:
        """An estimator fitted with the bits of a seed."""
        model = with_bits(self.model(), lambda: random_bits(seed))
        with quietly():
            return model.fit(X, y, groups=self._subject.identifiers(len(y)))

    def released(self, X: Any, y: Any, seed: int) -> dict[str, bytes]:
        model = self.fitted(X, y, seed)
        known = (name for name in vars(model) if name.endswith("_") and name != "fitted_")
        names = [*_RELEASED, *known]
        return {name: as_bytes(getattr(model, name)) for name in names}

    def held(self, X: Any, y: Any) -> Floats:
        with quietly():
            task = self.model().prepare(X, y, self._subject.identifiers(len(y)))
        if isinstance(task, UnboundedTask):
            held = [task.entries[:, :USED].toarray()]
        else:
            held = self._subject.held(task)
        weights = [] if task.weights is None else [task.weights]
        return np.column_stack([*held, task.labels, *weights])


def dense(matrix: ColumnMatrix | UnitRows) -> Floats:
    """The entries as a dense array of the nonempty columns and the last, a constant's column."""
    entries = int(matrix.indptr[-1])
    values = np.ones(entries) if matrix.values is None else matrix.values[:entries]
    found = (values.astype(np.float64), matrix.indices[:entries], matrix.indptr)
    kept = np.unique([*range(min(USED, matrix.shape[1])), matrix.shape[1] - 1])
    return sp.csc_array(found, shape=matrix.shape)[:, kept].toarray()


def unit_entries(rows: UnitRows) -> tuple[Floats, Floats]:
    """Entries of unit rows in units of what they count in sums, and those units.

    Whole numbers are stored in another unit where all are alike, which must not show.
    """
    return dense(rows) / rows.largest, rows.units * rows.largest


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
