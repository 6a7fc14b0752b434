"""The role of each column of a table, or the bound of each column of a matrix."""

from typing import Any

import numpy as np

from dplasso.report.features import roles_of
from dplasso.report.markup import Markup, folded, join, table, tag
from dplasso.report.names import column_name, number, quoted, shortened
from dplasso.report.scale import Ends, ends_of

_OPEN = 12  # longest table that is not folded
_MOST = 200  # rows of the table
_NAMED = 3  # columns with the same ends that are named

Row = tuple[Any, ...]


def columns_declared(model: Any) -> Markup:
    """Return a table of columns, folded if it is long; empty if all have the same ends."""
    roles = roles_of(model)
    if roles:
        names = ((quoted(shortened(name)), role, f"{count:,}") for name, role, count in roles)
        return _listed("Columns of the table", ("Column", "Taken as", "Features"), list(names))
    ends = ends_of(model)
    if ends is None:
        return Markup()
    heads = ("Columns", "Range, or size of entries")
    return _listed("Columns by falling bound", heads, _of_columns(model, ends))


def _listed(caption: str, heads: tuple[str, ...], rows: list[Row]) -> Markup:
    listed = table(caption, heads, rows[:_MOST])
    if len(rows) > _MOST:
        listed = join(listed, tag("p", f"The first {_MOST} are listed; the model file has all."))
    return listed if len(rows) <= _OPEN else folded(caption, listed)


def _of_columns(model: Any, ends: Ends) -> list[Row]:
    """Group columns of the matrix by their ends, the largest in size first.

    The result has at most one row more than is shown, which signals that there are more.
    """
    low, high, ranged = ends
    sizes = np.maximum(-low, high)
    falling = np.lexsort((ranged, low, high, -sizes))
    changes = [np.diff(each[falling]) != 0 for each in (low, high, ranged)]
    starts = np.concatenate([[0], 1 + np.flatnonzero(np.any(changes, axis=0))])
    rows: list[Row] = []
    for start, end in zip(starts[: _MOST + 1], [*starts[1:], len(low)], strict=False):
        named = falling[start : min(end, start + _NAMED)].tolist()
        names = Markup(", ".join(quoted(column_name(model, column)) for column in named))
        more = int(end - start) - len(named)
        first = falling[start]
        value = f"at most {number(float(high[first]))}"
        if ranged[first]:
            value = f"{number(float(low[first]))} to {number(float(high[first]))}"
        rows.append((join(names, f" and {more:,} more" if more else ""), value))
    return rows
