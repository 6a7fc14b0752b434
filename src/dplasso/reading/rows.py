"""Rows that were read from a file, and the public facts about them."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplasso.data.described import ABOUT_PEOPLE, DescribedRows
from dplasso.data.rows_of_people import of_people
from dplasso.data.sparse_bounds import SparseBounds
from dplasso.schema import FeatureNames, Schema


@dataclass(frozen=True)
class Rows:
    """Rows, their labels, and the public facts about their columns. See `read_rows`.

    Attributes
    ----------
    X : sparse array or ColumnMatrix
        One row per row of the file. If a column names people, a fit needs ``groups``, or the rows
        as `described`.
    y : ndarray or None
        Labels; None where the file has none.
    bounds : ndarray, SparseBounds or None
        Public bound of every column, to be passed as ``x_bound``; None where the file has none.
    names : ndarray of str, FeatureNames or None
        Names of the columns.
    schema : Schema or None
        How the columns of a table become features.
    groups : ndarray of str or None
        The identifier of the person of each row, exactly as in the file, and None where it is
        missing. None if no column names people.
    class_weight : dict or None
        Weights of the classes, where the schema states them.
    classes : list or None
        The possible labels, where the file or the plan states them.
    undeclared : frozenset of str
        Public facts ("classes", "n_features") that were not declared but read from the data.
    zero_based : bool
        Whether indices in the file start at 0.
    declared_rows : int or None
        The number of rows that the schema states, or that was declared when the file was written.
    scaled : bool
        Whether numbers of a table are centred and scaled to [-1, 1].
    """

    X: Any
    y: NDArray[Any] | None
    bounds: NDArray[np.float64] | SparseBounds | None = None
    names: NDArray[Any] | FeatureNames | None = None
    schema: Schema | None = None
    classes: list[Any] | None = None
    undeclared: frozenset[str] = frozenset()
    zero_based: bool = False
    declared_rows: int | None = None
    groups: NDArray[Any] | None = None
    scaled: bool = False

    def __post_init__(self) -> None:
        if self.groups is not None:  # otherwise a fit to X alone would forget the people
            object.__setattr__(self, "X", of_people(self.X))

    @property
    def class_weight(self) -> dict[str, float] | None:
        """Weights of the classes, which are 1 where the schema names others only."""
        weights = {} if self.schema is None else self.schema.labels.class_weight
        if not weights:
            return None
        return {name: weights.get(name, 1.0) for name in self.classes or ()}

    @property
    def recipe(self) -> dict[str, Any] | None:
        """How to read rows like these; a model keeps it as ``table_plan_``."""
        if self.schema is not None:
            return self.schema.to_dict() | ({"scaled": True} if self.scaled else {})
        return {"zero_based": True} if self.zero_based else None

    @property
    def facts(self) -> dict[str, Any]:
        """Public facts that the file or its schema declares, by the names of parameters."""
        schema = self.schema
        known: dict[str, Any] = {"n_rows": self.declared_rows, "class_weight": self.class_weight}
        if "classes" not in self.undeclared:
            known["classes"] = self.classes
        if schema is not None:
            known["y_bound"] = schema.labels.bounds
        if schema is not None and self.groups is not None:
            known |= {name: getattr(schema, name) for name in ABOUT_PEOPLE}
        return {name: value for name, value in known.items() if value is not None}

    def described(self, declared: Collection[str] = ()) -> DescribedRows:
        """Return the rows for ``fit``, with the public facts about them.

        The model keeps and states how they were read. It takes bounds, classes and their weights,
        and the numbers of rows and people from the schema, where its parameters leave them out.

        Parameters
        ----------
        declared : collection of str, default=()
            Names of facts that the caller declares to the model although the file does not.

        Returns
        -------
        DescribedRows
        """
        read = self.undeclared.difference(declared)
        return DescribedRows(
            self.X, self.names, self.recipe, read, self.bounds, self.groups, self.facts
        )
