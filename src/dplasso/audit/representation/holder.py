"""What is asked of everything that takes rows in and releases numbers."""

import json
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dplasso.audit.descent.subject import WIDE, DescentSubject
from dplasso.audit.facts import AS_IS
from dplasso.audit.few.subject import FewSubject
from dplasso.audit.representation.rows import USED
from dplasso.audit.selection.subject import SelectionSubject
from dplasso.audit.stream.subject import StreamSubject, rows_of
from dplasso.audit.subject import Subject
from dplasso.base.arrays import Floats
from dplasso.data import ColumnMatrix
from dplasso.data.unit_rows import UnitRows
from dplasso.fitting.private_bound import UnboundedTask, is_asked
from dplasso.mechanisms.random_bits import random_bits


@contextmanager
def quietly() -> Iterator[None]:
    """Warnings about rows and seeds of the audit's own are for nobody."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


_RELEASED = ("coef_", "intercept_", "vertices_", "n_iter_", "solver_", "rows_")


class Holder(ABC):
    """One configuration of something that releases numbers about rows.

    ``named`` says which, ``columns`` and ``rows`` are the shape of the rows it is given, and
    ``bound`` is about how large their entries may be. ``own_bound`` is the bound by which the
    library's own containers hold rows for it, or None where it does not take them.
    """

    named: str
    columns: int
    rows: int
    bound = 1.0
    own_bound: Any = None

    @abstractmethod
    def released(self, X: Any, y: Any, seed: int) -> dict[str, bytes]:
        """All that is released about the rows, the noise being fixed by the seed."""

    @abstractmethod
    def held(self, X: Any, y: Any) -> Floats:
        """Rows and labels as sums are made of them, one row of numbers per row."""


class FitHolder(Holder):
    """A fit by any of the solvers, with some parameters changed."""

    def __init__(self, subject: Subject, parameters: dict[str, Any], rows: int) -> None:
        self._subject, self._parameters = subject, parameters
        self._wide = isinstance(subject, FewSubject)
        self.columns, self.rows = WIDE if self._wide else subject.columns, rows
        self.named = ", ".join(f"{name}={_short(value)}" for name, value in parameters.items())
        model = self.model()
        if model.rows == AS_IS and not is_asked(model.x_bound):
            self.own_bound = model.x_bound
            self.bound = float(np.max(model.x_bound))

    def model(self) -> Any:
        """A fresh estimator."""
        subject = self._subject
        if isinstance(subject, FewSubject):
            return subject.wide_copy(**self._parameters)
        return subject.copy(**self._parameters)

    def fitted(self, X: Any, y: Any, seed: int) -> Any:
        """An estimator fitted with the bits of a seed."""
        model = self.model()
        model._random_bits = lambda: random_bits(seed)
        with quietly():
            return model.fit(X, y)

    def released(self, X: Any, y: Any, seed: int) -> dict[str, bytes]:
        model = self.fitted(X, y, seed)
        known = (name for name in vars(model) if name.endswith("_") and name != "fitted_")
        names = [*_RELEASED, *known]
        return {name: _bytes(getattr(model, name)) for name in names}

    def held(self, X: Any, y: Any) -> Floats:
        model = self.model()
        with quietly():
            task = model.prepare(X, y)
        labels = task.labels
        if isinstance(task, UnboundedTask):
            return np.column_stack([task.entries[:, :USED].toarray(), labels])
        if isinstance(self._subject, SelectionSubject):
            return np.column_stack([_dense(task.matrix), labels])
        if isinstance(self._subject, FewSubject):
            chosen_by = _dense(task.scores.rows), task.scores.labels
            return np.column_stack([*chosen_by, _dense(task.matrix), labels])
        assert isinstance(self._subject, DescentSubject)
        return np.column_stack([_dense(task.rows), task.rows.units, labels])


class StreamHolder(Holder):
    """A short stream, learned from call by call."""

    def __init__(self, subject: StreamSubject, parameters: dict[str, Any], rows: int) -> None:
        self._subject, self._parameters = subject, parameters
        self.columns, self.rows = subject.columns, rows
        self.named = ", ".join(f"{name}={_short(value)}" for name, value in parameters.items())

    def released(self, X: Any, y: Any, seed: int) -> dict[str, bytes]:
        model = self._subject.begun(self.columns, seed, **self._parameters)
        with quietly():
            model.partial_fit(X, y)
        return {name: _bytes(getattr(model, name)) for name in ("coef_", "intercept_", "privacy_")}

    def held(self, X: Any, y: Any) -> Floats:
        model = self._subject.begun(self.columns, 0, **self._parameters)
        with quietly():
            (starts, columns, values), labels = rows_of(model, X, y)
        shape = (len(starts) - 1, self.columns + 1)
        return np.column_stack(
            [sp.csr_array((values, columns, starts), shape=shape).toarray(), labels]
        )


def _dense(matrix: ColumnMatrix | UnitRows) -> Floats:
    """Entries in their places: of the columns that have any, and of the last, a constant's."""
    entries = int(matrix.indptr[-1])
    values = np.ones(entries) if matrix.values is None else matrix.values[:entries]
    found = (values.astype(np.float64), matrix.indices[:entries], matrix.indptr)
    kept = np.unique([*range(min(USED, matrix.shape[1])), matrix.shape[1] - 1])
    dense: Floats = sp.csc_array(found, shape=matrix.shape)[:, kept].toarray()
    return dense


def _bytes(released: Any) -> bytes:
    """A released number, array or statement, to the last bit."""
    if isinstance(released, dict):
        return json.dumps(released, sort_keys=True, default=str).encode()
    array: NDArray[Any] = released.toarray() if sp.issparse(released) else np.asarray(released)
    return f"{array.dtype} {array.shape} ".encode() + array.tobytes()


def _short(value: Any) -> str:
    return "one per column" if np.ndim(value) else str(value)
