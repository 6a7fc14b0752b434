"""Charts of a regressor on public rows: predicted against actual numbers, and errors."""

import math

from dplasso.report.charts import Box, Line, Plot, Whisker, draw, legend, rounded_out
from dplasso.report.evaluation import Evaluation
from dplasso.report.markup import Markup, cards, join, table, tag
from dplasso.report.measured import Residuals
from dplasso.report.names import number, score_text

_PALEST = 0.12  # shade of a cell with one row
_LINES: list[tuple[str, Markup | str]] = [
    ("limit", "predicted = actual"),
    ("1", "mean of tenths of the rows"),
]


def number_charts(found: Evaluation) -> Markup:
    """Return the charts; empty for a classifier, or if nothing was measured."""
    known = None if found.measured is None else found.measured.residuals
    if known is None:
        return Markup()
    pairs = tag("div", draw(_pairs_plot(known)), legend(_LINES, "pairs-title"))
    drawn = (pairs, draw(_errors_plot(known)), _table(known))
    return join(_sizes(known), tag("div", *drawn, class_="charts"))


def _sizes(known: Residuals) -> Markup:
    return cards(
        {
            "Mean size of errors": number(known.size),
            "The same, always answering the median": number(known.trivial_size),
            "Half of the errors are at most": number(known.median_size),
            "Root mean square of errors": number(known.root_mean_square),
            "Mean error (actual minus predicted)": number(known.mean),
            **({} if known.slope is None else {"Slope": score_text(known.slope)}),
        }
    )


def _pairs_plot(known: Residuals) -> Plot:
    half = known.width / 2
    most = max(rows for *_, rows in known.cells)
    ends = rounded_out(
        min(min(x, y) for x, y, _ in known.cells) - half,
        max(max(x, y) for x, y, _ in known.cells) + half,
    )
    boxes = [
        Box(x - half, y - half, x + half, y + half, _shade(rows, most))
        for x, y, rows in known.cells
    ]
    middle = [(x, y) for x, y, _ in known.groups]
    return Plot(
        name="pairs",
        title="Predicted against actual",
        description="Rows by predicted and actual number, darker where there are more. Dashed, "
        "where both are equal. The line shows means of tenths of the rows, as the table does.",
        x_label="predicted",
        y_label="actual",
        x=ends,
        y=ends,
        lines=[Line([(ends[0], ends[0]), (ends[1], ends[1])], "limit"), Line(middle)],
        whiskers=[Whisker(x, y, y, y) for x, y in middle],
        boxes=boxes,
    )


def _shade(rows: int, most: int) -> float:
    """Return how dark a cell is, by the logarithm of its rows."""
    if most == 1:
        return 1.0
    return _PALEST + (0.75 - _PALEST) * math.log(rows) / math.log(most)


def _errors_plot(known: Residuals) -> Plot:
    most = max(rows for *_, rows in known.bars)
    return Plot(
        name="errors",
        title="Errors: actual minus predicted",
        description=f"Number of rows by error. The mean is {number(known.mean)}, and half of the "
        f"errors are at most {number(known.median_size)} in size. The outermost bars hold all "
        "errors beyond them.",
        x_label="actual minus predicted",
        y_label="rows",
        x=(known.bars[0][0], known.bars[-1][1]),
        y=rounded_out(0.0, float(most)),
        lines=[Line([(0.0, 0.0), (0.0, rounded_out(0.0, float(most))[1])], "limit")],
        boxes=[Box(low, 0.0, high, float(rows), 0.6) for low, high, rows in known.bars if rows],
    )


def _table(known: Residuals) -> Markup:
    rows = [(number(x), number(y), f"{count:,}") for x, y, count in known.groups]
    caption = "Tenths of the rows by predicted number"
    return table(caption, ("Mean predicted", "Mean actual", "Rows"), rows)
