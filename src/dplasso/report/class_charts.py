"""Charts of a classifier on public rows: thresholds, precision and recall, gain, reliability."""

from typing import Any

from dplasso.report.charts import Line, Plot, Whisker, draw, legend
from dplasso.report.evaluation import Evaluation
from dplasso.report.features import target_equals
from dplasso.report.markup import Markup, folded, join, table, tag
from dplasso.report.measured import Ranking, Reliability
from dplasso.report.names import number, quoted, score_text, shortened

_FEWEST = 20  # rows per point of a calibration: with fewer, its error is a tenth or more
_SHOWN = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)  # thresholds of the table
_UNIT = (0.0, 1.0)
_DIAGONAL = Line([(0.0, 0.0), (1.0, 1.0)], "limit")


def class_charts(model: Any, found: Evaluation) -> Markup:
    """Return the charts of whatever was measured; empty if nothing was."""
    drawn = [*_roc(found), *_reliability(found), *_ranked(model, found)]
    return tag("div", *drawn, class_="charts") if drawn else Markup()


def _roc(found: Evaluation) -> list[Markup]:
    if found.auc is None:
        return []
    plot = Plot(
        name="roc",
        title=f"ROC{_mean_over(found)}",
        description="True against false positive rate; the area under it is "
        f"{score_text(found.auc)}. Dashed, what guessing gives.",
        x_label="false positive rate",
        y_label="true positive rate",
        x=_UNIT,
        y=_UNIT,
        lines=[_DIAGONAL, Line(found.roc)],
    )
    return [draw(plot)]


def _mean_over(found: Evaluation) -> str:
    return "" if len(found.classes) == 2 else ", mean of each class against the rest"


def _reliability(found: Evaluation) -> list[Markup]:
    """Return the observed share by predicted probability: a chart and a table.

    They are left out if predictions do not differ enough to draw a line.
    """
    known = found.reliability
    if known is None or len(known.bins) < 2:
        return []
    drawn = [(x, y) for x, y, rows in known.bins if rows >= _FEWEST]
    chart = [draw(_reliability_plot(known, drawn))] if len(drawn) > 1 else []
    rows = [(score_text(x), score_text(y), f"{count:,}") for x, y, count in known.bins]
    caption = "Calibration, in numbers"
    if len(drawn) < len(known.bins):
        caption += f" (not drawn: fewer than {_FEWEST} rows)"
    listed = table(caption, ("Predicted", "Observed", "Rows"), rows)
    return [tag("div", *chart, folded(caption, listed))]


def _reliability_plot(known: Reliability, points: list[tuple[float, float]]) -> Plot:
    told = "; ".join(f"{number(x)}: {number(y)}" for x, y in points)
    what = "answers that were right" if known.of_answers else "rows that were of the second class"
    return Plot(
        name="calibration",
        title="Calibration",
        description=f"Share of {what}, by predicted probability: {told}. Dashed, perfect "
        "calibration.",
        x_label="probability of the answer" if known.of_answers else "predicted probability",
        y_label="share that was right" if known.of_answers else "observed share",
        x=_UNIT,
        y=_UNIT,
        lines=[_DIAGONAL, Line(points)],
        whiskers=[Whisker(x, y, y, y) for x, y in points],
    )


def _ranked(model: Any, found: Evaluation) -> list[Markup]:
    known = None if found.measured is None else found.measured.ranking
    if known is None:
        return []
    caption, listed = _threshold_table(model, found, known)
    return [
        tag(
            "div",
            draw(_threshold_plot(known)),
            legend(_threshold_lines(known), "thresholds-title"),
            folded(caption, listed),
        ),
        tag("div", draw(_precision_plot(found, known))),
        tag("div", draw(_gain_plot(found, known)), legend(_GAIN_LINES, "gain-title")),
    ]


def _threshold_lines(known: Ranking) -> list[tuple[str, Markup | str]]:
    if known.of_answers:
        return [("1", "answers that are right"), ("2", "rows that are answered")]
    return [
        ("1", "precision: chosen rows that are of it"),
        ("2", "recall: its rows that are chosen"),
    ]


def _threshold_plot(known: Ranking) -> Plot:
    precision = [
        (at.threshold, at.precision) for at in known.thresholds if at.precision is not None
    ]
    other = [
        (at.threshold, at.chosen if known.of_answers else at.recall) for at in known.thresholds
    ]
    what = "that are answered and right" if known.of_answers else "that are chosen"
    return Plot(
        name="thresholds",
        title="If only sure answers count" if known.of_answers else "By threshold",
        description=f"Shares of rows {what}, by the least probability that counts. The table has "
        "the numbers.",
        x_label="least probability that counts",
        y_label="share",
        x=_UNIT,
        y=_UNIT,
        lines=[Line(precision), Line(other, "2")],
    )


def _threshold_table(model: Any, found: Evaluation, known: Ranking) -> tuple[Markup, Markup]:
    """Return the caption and the table."""
    heads: tuple[str, ...] = ("Probability, at least", "Rows", "Precision", "Recall")
    caption = join("Sure answers, in numbers")
    if known.of_answers:
        heads = ("Probability, at least", "Answered", "Right")
    else:
        name = quoted(shortened(found.classes[1]))
        caption = join("Thresholds for ", target_equals(model), name, ", in numbers")
    rows = []
    for at in known.thresholds:
        if not any(abs(at.threshold - shown) < 1e-9 for shown in _SHOWN):
            continue
        right = "–" if at.precision is None else score_text(at.precision)
        row = (f"{at.threshold:.1f}", f"{100 * at.chosen:.1f} %", right)
        rows.append(row if known.of_answers else (*row, score_text(at.recall)))
    return caption, table(caption, heads, rows)


def _precision_plot(found: Evaluation, known: Ranking) -> Plot:
    return Plot(
        name="precision-recall",
        title=f"Precision and recall{_mean_over(found)}",
        description="Precision at each recall; its average is "
        f"{score_text(known.average_precision)}. Dashed, what guessing gives: "
        f"{score_text(known.share)}.",
        x_label="recall",
        y_label="precision (dashed: guessing)",
        x=_UNIT,
        y=_UNIT,
        lines=[
            Line([(0.0, known.share), (1.0, known.share)], "limit"),
            Line(known.precision_recall),
        ],
    )


_GAIN_LINES: list[tuple[str, Markup | str]] = [
    ("1", "this model"),
    ("trivial", "a perfect order"),
    ("limit", "rows in random order"),
]


def _gain_plot(found: Evaluation, known: Ranking) -> Plot:
    tenth = dict(known.gain)[0.1]
    return Plot(
        name="gain",
        title=f"Gain{_mean_over(found)}",
        description="Share of the class that is found among the rows with the highest "
        f"probabilities: the first tenth of the rows holds {score_text(tenth)} of it.",
        x_label="share of rows, highest probability first",
        y_label="share of the class found",
        x=_UNIT,
        y=_UNIT,
        lines=[
            _DIAGONAL,
            Line([(0.0, 0.0), (known.share, 1.0), (1.0, 1.0)], "trivial"),
            Line(known.gain),
        ],
    )
