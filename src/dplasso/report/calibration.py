"""Calibration: the observed share of a class among rows with a similar predicted probability."""

from dplasso.report.charts import Line, Plot, Whisker, draw
from dplasso.report.evaluation import Evaluation
from dplasso.report.markup import Markup, table, tag
from dplasso.report.names import number, score_text

FEWEST = 20  # rows per point: with fewer, the error of the share is a tenth or more


def calibration(found: Evaluation) -> list[Markup]:
    """Return chart and table, if predictions differ enough to draw a line."""
    if len(found.calibration) < 2:
        return []
    drawn = [(x, y) for x, y, rows in found.calibration if rows >= FEWEST]
    chart = [draw(_plot(drawn))] if len(drawn) > 1 else []
    rows = [(score_text(x), score_text(y), f"{count:,}") for x, y, count in found.calibration]
    heads = ("Predicted", "Observed", "Rows")
    caption = "Calibration, in numbers"
    if len(drawn) < len(found.calibration):
        caption += f" (not drawn: fewer than {FEWEST} rows)"
    return [tag("div", *chart), table(caption, heads, rows)]


def _plot(points: list[tuple[float, float]]) -> Plot:
    told = "; ".join(f"{number(x)}: {number(y)}" for x, y in points)
    return Plot(
        name="calibration",
        title="Calibration",
        description=f"Share that was of the second class, by predicted probability: {told}. "
        "Dashed, perfect calibration.",
        x_label="predicted probability",
        y_label="observed share",
        x=(0.0, 1.0),
        y=(0.0, 1.0),
        lines=[Line([(0.0, 0.0), (1.0, 1.0)], "limit"), Line(points)],
        whiskers=[Whisker(x, y, y, y) for x, y in points],
    )
