"""Which bound each column has, where they differ."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplasso.report.features import plan_of
from dplasso.report.markup import Markup, join, table, tag
from dplasso.report.names import column_name, number, quoted, shortened
from dplasso.report.scale import bounds_of

_OPEN = 12  # rows that are shown without being asked for
_MOST = 200  # rows of the table
_NAMED = 3  # columns of one bound that are named

Row = tuple[Any, Any]


def bounds_by_column(model: Any) -> Markup:
    """A table of columns and bounds, folded where it is long; nothing where all are equal."""
    bounds, plan = bounds_of(model), plan_of(model)
    if bounds is None:
        return Markup()
    if plan:
        caption, heads = "Columns as they were declared", ("Column", "Entries lie between")
        rows = _of_table(plan)
    else:
        caption, heads = "Columns by falling bound", ("Columns", "Size of entries, at most")
        rows = _of_columns(model, bounds)
    listed = table(caption, heads, rows[:_MOST])
    if len(rows) > _MOST:
        listed = join(listed, tag("p", f"The first {_MOST} are listed; the model file has all."))
    if len(rows) <= _OPEN:
        return listed
    return tag("details", tag("summary", "Bounds by column"), listed)


def _of_table(plan: Any) -> list[Row]:
    """Columns of the file, as they were declared."""
    rows: list[Row] = []
    for name, low, high in plan["bounds"]:
        rows.append((quoted(shortened(name)), f"{number(low)} and {number(high)}"))
    for name, buckets in plan["hashed"]:
        rows.append((quoted(shortened(name)), f"0 and 1, in each of {buckets:,} buckets"))
    return [*rows, ("whether a number is missing", "0 and 1")]


def _of_columns(model: Any, bounds: NDArray[np.float64]) -> list[Row]:
    """Columns of the matrix, those of one bound together, by falling bound; one row too many at
    most, which tells that there are more."""
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
