"""Rows of which a schema says that they belong to people, whom a fit must not forget."""

from dataclasses import fields
from typing import Any

import scipy.sparse as sp

from dplasso.base.wording import ParameterError
from dplasso.data.columns import ColumnMatrix


class RowsOfPeople(sp.csr_array):  # type: ignore[misc]  # scipy is untyped
    """A sparse matrix whose rows belong to people: a fit to it needs their identifiers."""


class ColumnsOfPeople(ColumnMatrix):
    """A matrix by columns whose rows belong to people: a fit to it needs their identifiers."""


def of_people(X: Any) -> Any:
    """The same matrix, without a copy, which says that its rows belong to people."""
    if sp.issparse(X):
        return RowsOfPeople(X)
    if isinstance(X, ColumnMatrix):
        held = {one.name: getattr(X, one.name) for one in fields(X)}
        return ColumnsOfPeople(**held, trusted=True)
    return X


def check_people_given(X: Any, groups: object) -> None:
    """Reject a fit that would protect rows of people one by one, because nobody said whose."""
    if groups is None and isinstance(X, RowsOfPeople | ColumnsOfPeople):
        raise ParameterError(
            "{X} has rows of people, as their schema says, and groups are missing; pass groups, "
            "one identifier per row (in a pipeline by the name of the model's step, as "
            "privatelassoclassifier__groups); to rows of read_rows, fit with rows.described(), or "
            "pass groups=rows.groups. To protect rows one by one, encode with person='ignored', or "
            "give the column of people the role identifier"
        )
