"""The evaluation on the page: scores, curves and confusion."""

import math
from typing import Any

from dplasso.report.charts import Line, Plot, draw
from dplasso.report.curve_section import curve_section
from dplasso.report.evaluation import Evaluation
from dplasso.report.markup import Markup, callout, join, scroller, section, tag
from dplasso.report.names import number, quoted, shortened

_MOST_CLASSES = 20  # of a confusion matrix on the page
_SHADES = 5  # of its cells, in the style sheet


def quality(model: Any, found: Evaluation) -> Markup:
    """How well the model does, labelled as what it is."""
    label = callout(
        "note",
        "Computed on data declared public.",
        f"The {found.rows:,} rows of this section are not protected by the guarantee.",
    )
    plots = [_roc(found), _calibration(found)]
    drawn = [draw(plot) for plot in plots if plot is not None]
    return section(
        "quality",
        "How well it predicts",
        label,
        _scores(found),
        _verdict(found),
        tag("div", *drawn, class_="charts") if drawn else Markup(),
        curve_section(model, found),
        _confusion(found),
    )


def _scores(found: Evaluation) -> Markup:
    shown = {found.score_name: number(found.score)}
    if found.trivial is not None:
        shown[found.trivial_answer.capitalize()] = number(found.trivial)
    if found.auc is not None:
        shown["Area under the ROC"] = number(found.auc)
    shown["Public rows"] = f"{found.rows:,}"
    cards = (tag("div", tag("dt", name), tag("dd", value)) for name, value in shown.items())
    return tag("dl", *cards, class_="numbers")


def _verdict(found: Evaluation) -> Markup:
    """Said aloud where a high score is no merit of the model."""
    if not found.verdict:
        return Markup()
    poor = not found.verdict.startswith("better")
    ranks = []
    if poor and found.auc is not None:
        ranks.append(
            f" How well it ranks rows is another matter: guessing has an area of 0.5 under the "
            f"ROC, this model {number(found.auc)}."
        )
    title = f"{found.score_name}: {found.verdict}."
    return callout("warning", title, *ranks) if poor else tag("p", title)


def _roc(found: Evaluation) -> Plot | None:
    if found.auc is None:
        return None
    of = "" if len(found.classes) == 2 else ", mean of each class against the rest"
    return Plot(
        name="roc",
        title=f"ROC{of}",
        description=f"True against false positive rate; the area under it is {number(found.auc)}. "
        "Dashed, what guessing gives.",
        x_label="false positive rate",
        y_label="true positive rate",
        x=(0.0, 1.0),
        y=(0.0, 1.0),
        lines=[Line([(0.0, 0.0), (1.0, 1.0)], "limit"), Line(found.roc)],
    )


def _calibration(found: Evaluation) -> Plot | None:
    if len(found.calibration) < 2:
        return None
    points = [(predicted, observed) for predicted, observed, _ in found.calibration]
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
    )


def _confusion(found: Evaluation) -> Markup:
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
    return scroller("Confusion matrix", whole)


def _heads(names: list[Markup], scope: str) -> list[Markup]:
    return [tag("th", name, scope=scope) for name in names]


def _cells(counts: tuple[int, ...]) -> Markup:
    """Counts, shaded by their share of the row."""
    total = max(1, sum(counts))
    shades = (math.ceil(_SHADES * count / total) for count in counts)
    cells = zip(counts, shades, strict=True)
    return join(*(tag("td", f"{count:,}", class_=f"shade-{shade}") for count, shade in cells))
