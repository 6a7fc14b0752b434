"""The result of a fit."""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import scipy.sparse as sp

from dplasso.base.arrays import Floats, Ints
from dplasso.data.used_columns import MANY
from dplasso.fitting.row_margins import RowMargins, few_columns
from dplasso.fitting.row_reader import RowReader
from dplasso.solvers.correction import Correction, CountedRows


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted linear model: a function of releases and public facts alone.

    Attributes
    ----------
    solver : str
        Name of the solver in `dplasso.fitting.registry`.
    weights : csr_array, outputs x columns
        Weights of rows that ``reader`` has mapped.
    intercepts : ndarray
        One intercept per output.
    released : ndarray of int
        Coordinates that were released one by one: column, sign, and the class if there are more
        than two. It has no rows if the solver releases no coordinates.
    steps : int
        Number of rounds or steps of the solver.
    reader : RowReader
        How new rows are mapped.
    correction : Correction or None
        Scale and shifts by which weights and intercepts were corrected, so that they give
        probabilities; None if the solver's own are unchanged, or in files of earlier versions.
    only_noise : bool
        Whether columns would have added nothing but noise, so that the model does without them, or
        nearly. A model that was loaded from a file does not say.
    miscounted : CountedRows or None
        Number of rows by the counts that were released, if the declared one is far off. A model
        that was loaded from a file does not say.
    """

    solver: str
    weights: sp.csr_array
    intercepts: Floats
    released: Ints
    steps: int
    reader: RowReader
    correction: Correction | None = None
    only_noise: bool = False
    miscounted: CountedRows | None = None

    def margins(self, X: Any, *, few: bool = False) -> Floats:
        """Return the margins of checked rows, rows x outputs.

        If ``few``, sparse rows have few entries compared to the number of columns, and arrays with
        one number per column are not made for them; nor if nearly all weights are 0.
        """
        few = sp.issparse(X) and (few or self._mostly_zero)
        return (self._with_few_columns if few else self._with_all_columns)(X)

    @property
    def _mostly_zero(self) -> bool:
        """Whether dense weights would be far larger than sparse ones."""
        outputs, columns = self.weights.shape
        return bool(outputs * columns > 8 * MANY + 4 * self.weights.nnz)

    @cached_property
    def _with_all_columns(self) -> RowMargins:
        return RowMargins.of(self.reader, self.weights, self.intercepts)

    @cached_property
    def _with_few_columns(self) -> RowMargins:
        columns = few_columns(self.reader, self.weights)
        if columns is None:
            return self._with_all_columns
        return RowMargins.of(self.reader, self.weights, self.intercepts, columns)

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields alone: what is computed from them is not copied or pickled."""
        return {field.name: getattr(self, field.name) for field in fields(self)}
