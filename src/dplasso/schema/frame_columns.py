"""The names of a frame's columns, whichever library it is of."""

from collections.abc import Mapping
from typing import Any

import scipy.sparse as sp

from dplasso.base.wording import ParameterError


def is_frame(X: object) -> bool:
    """Whether an object is a frame, whose columns have names.

    >>> is_frame({"age": [50]}), is_frame([[50]])
    (True, False)
    """
    if isinstance(X, Mapping):
        return True
    return not sp.issparse(X) and (hasattr(X, "columns") or hasattr(X, "column_names"))


def names_of(frame: Any) -> list[str]:
    """The names of a frame's columns."""
    if not is_frame(frame):
        raise ParameterError(
            "{X} must be a frame whose columns have names (pandas, polars, pyarrow, or a dict of "
            "lists), got {kind}",
            kind=type(frame).__name__,
        )
    if isinstance(frame, Mapping):
        return list(frame)
    return list(frame.column_names if hasattr(frame, "column_names") else frame.columns)


def frame_rows(frame: Any) -> int:
    """The number of rows of a frame; columns of different length are rejected."""
    if not isinstance(frame, Mapping):
        return int(frame.num_rows if hasattr(frame, "num_rows") else len(frame))
    lengths = {len(column) for column in frame.values()}
    if len(lengths) > 1:
        raise ParameterError("columns of {X} differ in length; give one cell per row")
    return lengths.pop() if lengths else 0


def check_name(frame: Any, name: str) -> None:
    """Reject a frame that does not have one column of this name."""
    there = names_of(frame).count(name)
    if there != 1:
        how = "no column" if not there else "more than one column"
        raise ParameterError(
            "{X} has {how} {name!r}, which the schema names; give it one", how=how, name=name
        )


def selected(frame: Any, names: list[str]) -> Any:
    """The frame with these columns only."""
    for name in names:
        check_name(frame, name)
    if isinstance(frame, Mapping):
        return {name: frame[name] for name in names}
    return frame.select(names) if hasattr(frame, "select") else frame[names]
