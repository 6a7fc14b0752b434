"""The section on evaluation: scores, curves and confusion."""

import math
from typing import Any

from dplasso.report.calibrated import calibration
from dplasso.report.class_charts import class_charts
from dplasso.report.curve_section import curve_section
from dplasso.report.evaluation import Evaluation
from dplasso.report.features import target_equals
from dplasso.report.headline import QUALITY
from dplasso.report.markup import Markup, callout, cards, join, scroller, section, tag
from dplasso.report.names import quoted, score_text, shortened
from dplasso.report.number_charts import number_charts

_MOST_CLASSES = 20  # classes of a confusion matrix on the page
_MOST_TOLD = 10  # classes that are described in words
_SHADES = 5  # shades of its cells in the style sheet


def quality(model: Any, found: Evaluation) -> Markup:
    """Return the section on scores, with a note that they are computed on public data."""
    of = join(" of ", quoted(shortened(found.data_name))) if found.data_name else " of this section"
    label = callout(
        "note",
        "Computed on data declared public.",
        *(f"The {found.rows:,} rows", of, " are not protected by the guarantee."),
    )
    return section(
        "quality",
        QUALITY,
        label,
        _scores(found),
        _verdict(found),
        _calibration(found),
        _confusion(model, found),
        class_charts(model, found),
        number_charts(found),
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
    words = f"The model is {found.verdict}."
    if found.poor and found.auc is not None:
        words += (
            f" How well it ranks rows is another matter: guessing has an area of 0.5 under the "
            f"ROC, this model {score_text(found.auc)}."
        )
    return tag("p", words)


def _calibration(found: Evaluation) -> Markup:
    known = calibration(found)
    if known is None:
        return Markup()
    if known.off:
        return callout("warning", "Calibration is off.", known.words)
    return tag("p", f"Calibration: {known.short}. {known.words}")


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
