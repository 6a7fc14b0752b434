"""The role of each column of a table, or the bound of each column of a matrix."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplasso.report.features import roles_of
from dplasso.report.markup import Markup, folded, join, table, tag
from dplasso.report.names import column_name, number, quoted, shortened
from dplasso.report.scale import bounds_of, is_centred

_OPEN = 12  # longest table that is not folded
_MOST = 200  # rows of the table
_NAMED = 3  # columns with the same bound that are named

Row = tuple[Any, ...]


def columns_declared(model: Any) -> Markup:
    """Return a table of columns, folded if it is long; empty if all have the same bound."""
    roles, bounds = roles_of(model), bounds_of(model)
    if roles:
        names = ((quoted(shortened(name)), role, f"{count:,}") for name, role, count in roles)
        return _listed("Columns of the table", ("Column", "Taken as", "Features"), list(names))
    if bounds is None:
        return Markup()
    sizes = "Half the range, or the bound" if is_centred(model) else "Size of entries, at most"
    heads = ("Columns", sizes)
    return _listed("Columns by falling bound", heads, _of_columns(model, np.asarray(bounds)))


def _listed(caption: str, heads: tuple[str, ...], rows: list[Row]) -> Markup:
    listed = table(caption, heads, rows[:_MOST])
    if len(rows) > _MOST:
        listed = join(listed, tag("p", f"The first {_MOST} are listed; the model file has all."))
    return listed if len(rows) <= _OPEN else folded(caption, listed)


def _of_columns(model: Any, bounds: NDArray[np.float64]) -> list[Row]:
    """Group columns of the matrix by bound, in decreasing order of the bound.

    The result has at most one row more than is shown, which signals that there are more.
    """
    falling = np.argsort(-bounds, kind="stable")
    starts = np.flatnonzero(np.diff(bounds[falling], prepend=np.inf))
    ends = np.append(starts[1:], len(bounds))
    rows: list[Row] = []
    for start, end in zip(starts[: _MOST + 1], ends, strict=False):
        named = falling[start : min(end, start + _NAMED)].tolist()
        names = Markup(", ".join(quoted(column_name(model, column)) for column in named))
        more = int(end - start) - len(named)
        value = number(float(bounds[falling[start]]))
        rows.append((join(names, f" and {more:,} more" if more else ""), value))
    return rows
