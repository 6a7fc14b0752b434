"""Rows that were read from a file, and the public facts about them."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplasso.data.described import DescribedRows
from dplasso.data.sparse_bounds import SparseBounds
from dplasso.reading.plans import FeatureNames, TablePlan


@dataclass(frozen=True)
class Rows:
    """Rows, their labels, and the public facts about their columns. See `read_rows`.

    Attributes
    ----------
    X : sparse array or ColumnMatrix
        One row per row of the file.
    y : ndarray or None
        Labels; None where the file has none.
    bounds : ndarray, SparseBounds or None
        Public bound of every column, to be passed as ``x_bound``; None where the file has none.
    names : ndarray of str, FeatureNames or None
        Names of the columns.
    plan : TablePlan or None
        How the columns of a table become features.
    classes : list or None
        The possible labels, where the file or the plan states them.
    undeclared : frozenset of str
        Public facts ("classes", "n_features") that were not declared but read from the data.
    zero_based : bool
        Whether indices in the file start at 0.
    declared_rows : int or None
        The number of rows that was declared when the file was written.
    """

    X: Any
    y: NDArray[Any] | None
    bounds: NDArray[np.float64] | SparseBounds | None = None
    names: NDArray[Any] | FeatureNames | None = None
    plan: TablePlan | None = None
    classes: list[Any] | None = None
    undeclared: frozenset[str] = frozenset()
    zero_based: bool = False
    declared_rows: int | None = None

    @property
    def recipe(self) -> dict[str, Any] | None:
        """How to read rows like these; a model keeps it as ``table_plan_``."""
        if self.plan is not None:
            return self.plan.to_dict()
        return {"zero_based": True} if self.zero_based else None

    def described(self, declared: Collection[str] = ()) -> DescribedRows:
        """The rows for ``fit``, so that the model keeps and states how they were read.

        ``declared`` are facts that the caller declares to the model although the file does not.
        """
        read = self.undeclared.difference(declared)
        return DescribedRows(self.X, self.names, self.recipe, read, self.bounds)
