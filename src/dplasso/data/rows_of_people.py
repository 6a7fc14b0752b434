"""Rows of which a schema says that they belong to people, whom a fit must not forget."""

from typing import Any

import scipy.sparse as sp

from dplasso.base.wording import ParameterError


class RowsOfPeople(sp.csr_array):  # type: ignore[misc]  # scipy is untyped
    """A sparse matrix whose rows belong to people: a fit to it needs their identifiers."""


def check_people_given(X: Any, groups: object) -> None:
    """Reject a fit that would protect rows of people one by one, because nobody said whose."""
    if groups is None and isinstance(X, RowsOfPeople):
        raise ParameterError(
            "{X} has rows of people, as the schema of its encoder says, and groups are missing; "
            "pass groups, one identifier per row (in a pipeline by the name of the model's step, "
            "as privatelassoclassifier__groups), or encode with person='ignored' to protect rows "
            "one by one"
        )
