"""The section on evaluation: scores, curves and confusion."""

import math
from typing import Any

from dplasso.report.charts import Line, Plot, Whisker, draw
from dplasso.report.curve_section import curve_section
from dplasso.report.evaluation import Evaluation
from dplasso.report.features import target_equals
from dplasso.report.headline import QUALITY
from dplasso.report.markup import Markup, callout, cards, join, scroller, section, table, tag
from dplasso.report.names import number, quoted, score_text, shortened

_MOST_CLASSES = 20  # classes of a confusion matrix on the page
_MOST_TOLD = 10  # classes that are described in words
_SHADES = 5  # shades of its cells in the style sheet
_FEWEST = 20  # rows per point of a calibration: with fewer, its error is a tenth or more
_DIAGONAL = Line([(0.0, 0.0), (1.0, 1.0)], "limit")


def quality(model: Any, found: Evaluation) -> Markup:
    """Return the section on scores, with a note that they are computed on public data."""
    of = join(" of ", quoted(shortened(found.data_name))) if found.data_name else " of this section"
    label = callout(
        "note",
        "Computed on data declared public.",
        *(f"The {found.rows:,} rows", of, " are not protected by the guarantee."),
    )
    drawn = [*_roc(found), *_calibration(found)]
    return section(
        "quality",
        QUALITY,
        label,
        _scores(found),
        _verdict(found),
        _confusion(model, found),
        tag("div", *drawn, class_="charts") if drawn else Markup(),
        curve_section(model, found),
    )


def _scores(found: Evaluation) -> Markup:
    shown = {found.score_name: score_text(found.score)}
    if found.trivial is not None:
        shown[found.trivial_answer.capitalize()] = score_text(found.trivial)
    if found.auc is not None:
        shown["Area under the ROC"] = score_text(found.auc)
    if found.log_loss is not None and found.trivial_log_loss is not None:
        shown["Log-loss of its probabilities (lower is better)"] = f"{found.log_loss:.4f}"
        shown["Log-loss of the shares of the classes"] = f"{found.trivial_log_loss:.4f}"
    shown["Public rows"] = f"{found.rows:,}"
    return cards(shown)


def _verdict(found: Evaluation) -> Markup:
    """Warn if a high score is no merit of the model."""
    if not found.verdict:
        return Markup()
    words = f"{found.score_name}: {found.verdict}."
    if found.poor and found.auc is not None:
        words += (
            f" How well it ranks rows is another matter: guessing has an area of 0.5 under the "
            f"ROC, this model {score_text(found.auc)}."
        )
    return tag("p", words)


def _roc(found: Evaluation) -> list[Markup]:
    if found.auc is None:
        return []
    of = "" if len(found.classes) == 2 else ", mean of each class against the rest"
    plot = Plot(
        name="roc",
        title=f"ROC{of}",
        description="True against false positive rate; the area under it is "
        f"{score_text(found.auc)}. Dashed, what guessing gives.",
        x_label="false positive rate",
        y_label="true positive rate",
        x=(0.0, 1.0),
        y=(0.0, 1.0),
        lines=[_DIAGONAL, Line(found.roc)],
    )
    return [draw(plot)]


def _calibration(found: Evaluation) -> list[Markup]:
    """Return the observed share of a class by predicted probability: a chart and a table.

    They are left out if predictions do not differ enough to draw a line.
    """
    if len(found.calibration) < 2:
        return []
    drawn = [(x, y) for x, y, rows in found.calibration if rows >= _FEWEST]
    chart = [draw(_calibration_plot(drawn))] if len(drawn) > 1 else []
    rows = [(score_text(x), score_text(y), f"{count:,}") for x, y, count in found.calibration]
    caption = "Calibration, in numbers"
    if len(drawn) < len(found.calibration):
        caption += f" (not drawn: fewer than {_FEWEST} rows)"
    return [tag("div", *chart), table(caption, ("Predicted", "Observed", "Rows"), rows)]


def _calibration_plot(points: list[tuple[float, float]]) -> Plot:
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
        lines=[_DIAGONAL, Line(points)],
        whiskers=[Whisker(x, y, y, y) for x, y in points],
    )


def _confusion(model: Any, found: Evaluation) -> Markup:
    if not found.confusion:
        return Markup()
    if len(found.classes) > _MOST_CLASSES:
        return tag("p", f"Confusion is shown for up to {_MOST_CLASSES} classes only.")
    names = [quoted(shortened(name)) for name in found.classes]
    heads = tag("tr", tag("th", "True \\ predicted", scope="col"), *_heads(names, "col"))
    rows = (
        tag("tr", *_heads([name], "row"), _cells(counts))
        for name, counts in zip(names, found.confusion, strict=True)
    )
    caption = tag("caption", "Confusion matrix")
    whole = tag("table", caption, tag("thead", heads), tag("tbody", *rows), class_="confusion")
    return join(_by_class(model, found), scroller("Confusion matrix", whole))


def _by_class(model: Any, found: Evaluation) -> Markup:
    """Show counts per class: a high accuracy may hide that one class is hardly ever found."""
    if len(found.classes) > _MOST_TOLD:
        return Markup()
    told = (
        tag(
            "li",
            *("It answers ", target_equals(model), tag("strong", quoted(shortened(name)))),
            f" for {of.answered:,} of {found.rows:,} rows, and finds {of.found:,} of the "
            f"{of.rows:,} that are.",
        )
        for name, of in found.by_class.items()
    )
    return join(tag("h3", "What it answers"), tag("ul", *told))


def _heads(names: list[Markup], scope: str) -> list[Markup]:
    return [tag("th", name, scope=scope) for name in names]


def _cells(counts: tuple[int, ...]) -> Markup:
    """Return table cells with counts, shaded by their share of the row."""
    total = max(1, sum(counts))
    shades = (math.ceil(_SHADES * count / total) for count in counts)
    cells = zip(counts, shades, strict=True)
    return join(*(tag("td", f"{count:,}", class_=f"shade-{shade}") for count, shade in cells))
