"""Scores in the course of a stream: each row is predicted before it is learned from."""

import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dplasso.report.charts import Line, Plot, draw, legend, rounded_out, thinned
from dplasso.report.markup import Markup, callout, section, table, tag
from dplasso.report.names import score_text

_MOST_ROWS = 12  # rows of the table
_BEYOND = 1.05  # the axis extends past the last row, so that its label has room
_UNITS = ((1e6, "million rows"), (1e3, "thousand rows"), (1.0, "rows"))

Point = tuple[float, float, float]


@dataclass(frozen=True)
class Progress:
    """Scores of a stream. They depend on its rows without noise: NOT PRIVATE.

    ``points`` are (rows so far, score of all of them, score of the last ``recent_rows``).
    """

    score: str
    recent_rows: int
    points: tuple[Point, ...]

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Progress":
        """Read the scores from the ``metrics.json`` of a stream's state folder."""
        try:
            found = json.loads(Path(path).read_text("utf-8"))["curve"]
            points = tuple(_point(point) for point in found["points"])
            progress = cls(str(found["score"]), int(found["recent_rows"]), points)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"{os.fsdecode(path)} has no scores of a stream; give the metrics.json of its "
                "state folder"
            ) from error
        return progress


def _point(found: Any) -> Point:
    rows, so_far, recent = map(float, found)
    if not all(map(math.isfinite, (rows, so_far, recent))):
        raise ValueError("scores must be finite")
    return rows, so_far, recent


def progress_section(found: Progress) -> Markup:
    """Return two curves over the rows, and a table of the numbers."""
    label = callout(
        "danger",
        "NOT PRIVATE.",
        "These scores are functions of the rows and their labels, without noise: they are for the "
        "owner of the data only. Leave them out of a page that others see.",
    )
    words = tag("p", "Every row was predicted before it was learned from.")
    drawn = [tag("div", draw(_plot(found)), _legend(found))] if len(found.points) > 1 else []
    charts = tag("div", *drawn, _table(found), class_="charts")
    return section("progress", "How well it predicted", label, words, charts)


def _plot(found: Progress) -> Plot:
    values = [value for _, *scores in found.points for value in scores]
    last = found.points[-1][0]
    unit, x_label = next(known for known in _UNITS if last >= 10.0 * known[0] or known[0] == 1.0)
    return Plot(
        name="rolling",
        title=f"{found.score.capitalize()} as the stream went on",
        description=f"The {found.score} of the last {found.recent_rows:,} rows, and that of all so "
        "far. The table has the numbers.",
        x_label=x_label,
        y_label=found.score,
        x=(0.0, _BEYOND * last / unit),
        y=rounded_out(min(values), max(values)),
        lines=[
            Line([(rows / unit, so_far) for rows, so_far, _ in found.points], "limit"),
            Line([(rows / unit, recent) for rows, _, recent in found.points]),
        ],
    )


def _legend(found: Progress) -> Markup:
    items = [("1", f"the last {found.recent_rows:,} rows"), ("limit", "all rows so far")]
    return legend(items, "progress-heading")


def _table(found: Progress) -> Markup:
    rows = [
        (f"{int(rows):,}", score_text(recent), score_text(so_far))
        for rows, so_far, recent in thinned(found.points, _MOST_ROWS)
    ]
    heads = ("Rows", f"Last {found.recent_rows:,}", "All so far")
    return table(f"{found.score.capitalize()}, in numbers", heads, rows)
