"""The section on scores over epsilon: its origin, the model's own score, the trivial score."""

import math
from typing import Any, NamedTuple

from dplasso.report.charts import Line, Plot, Whisker, draw, legend, rounded_out
from dplasso.report.curve_fits import AREA, LOG_LOSS, Curve, declared_rows
from dplasso.report.evaluation import Evaluation
from dplasso.report.headline import epsilon_of
from dplasso.report.markup import Markup, join, table, tag
from dplasso.report.names import number, score_text
from dplasso.report.protects import declared_people, unit_of
from dplasso.report.weights import is_private

_MARGIN = 1.2  # factor of space to the left and right of the points


def curve_section(model: Any, found: Evaluation) -> Markup:
    """Return words, chart and table, or the reason why there are none."""
    curve = found.curve
    if curve is None:
        return Markup()
    heading = tag("h3", f"{_measured_by(found, curve).name} at other epsilons", id="epsilons")
    if curve.left_out:
        return join(heading, tag("p", f"No curve is drawn: {curve.left_out}."))
    words = tag("p", *_how(curve), *_compared(model, curve), *_why(found, curve))
    plot = _plot(model, found, curve)
    drawn = [] if plot is None else [tag("div", draw(plot), _legend(model, found, curve))]
    return join(heading, words, tag("div", *drawn, _table(model, found, curve), class_="charts"))


class Measure(NamedTuple):
    """The name of the score of a curve, this model's own score, and the trivial one."""

    name: str
    own: float | None
    trivial: float | None
    trivial_answer: str


def _measured_by(found: Evaluation, curve: Curve) -> Measure:
    if curve.measure == AREA:
        return Measure(AREA, found.auc, 0.5, "guessing")
    if curve.measure == LOG_LOSS:
        trivial = "the shares of the classes"
        return Measure(LOG_LOSS, found.log_loss, found.trivial_log_loss, trivial)
    return Measure(found.score_name, found.score, found.trivial, found.trivial_answer)


def _why(found: Evaluation, curve: Curve) -> list[str]:
    if not curve.measure:
        return []
    lower = " Lower is better." if curve.measure == LOG_LOSS else ""
    return [
        f" {found.score_name} says little on these rows; the score of the curve is "
        f"“{curve.measure}”.{lower}"
    ]


def _how(curve: Curve) -> list[Any]:
    times = "once."
    if curve.repeats > 1:
        times = (
            f"{curve.repeats} times, with other rows each time; the bars go from the least score "
            "to the most."
        )
    if curve.fitted_people is None:
        fitted = f"{curve.fitted_rows:,} public rows and scored on {curve.scored_rows:,} others"
    else:
        fitted = (
            f"{curve.fitted_people:,} people with about {curve.fitted_rows:,} public rows, all of "
            f"whose rows it protects together, and scored on about {curve.scored_rows:,} rows of "
            "others"
        )
    return [
        "The curve is ",
        tag("strong", "not of this model"),
        f" but of others with its settings, each fitted at one epsilon on {fitted}. At each "
        f"epsilon that was done {times}",
    ]


def _compared(model: Any, curve: Curve) -> list[str]:
    """Say what this model had and other fits had not, which makes its privacy cheaper or dearer."""
    if curve.fitted_people is not None:
        return _had_more(declared_people(model), curve.fitted_people, "people")
    if unit_of(model.privacy_).of_persons:
        return [
            " The curve is of rows: the public rows do not say whose they are, so these fits "
            "protect each row, while this model protects each person. Privacy for people costs "
            "more than the curve shows."
        ]
    return _had_more(declared_rows(model), curve.fitted_rows, "rows")


def _had_more(own: int | None, fitted: int, units: str) -> list[str]:
    if own is None or own <= fitted:
        return []
    times = number(own / fitted, ".2g")
    return [
        f" By its statement, this model had {own:,} {units}, {times} times as many: more {units} "
        "make privacy cheaper, so that it should do better than the curve."
    ]


def _plot(model: Any, found: Evaluation, curve: Curve) -> Plot | None:
    finite = sorted(point for point in curve.points if math.isfinite(point[0]))
    own = epsilon_of(model.privacy_)
    by = _measured_by(found, curve)
    diamonds = [(own, by.own)] if math.isfinite(own) and by.own is not None else []
    reach = [point[0] for point in finite] + [x for x, _ in diamonds]
    if len(finite) < 2 or finite[0][0] == finite[-1][0]:
        return None
    ends = min(reach) / _MARGIN, max(reach) * _MARGIN
    without = [point[1] for point in curve.points if math.isinf(point[0])]
    levels = [("limit", mean) for mean in without]
    if by.trivial is not None:
        levels.append(("trivial", by.trivial))
    every = [level for _, level in levels] + [score for _, score in diamonds]
    every += [value for point in finite for value in point[1:]]
    return Plot(
        name="curve",
        title=f"{by.name} by epsilon",
        description="The mean of fits at each epsilon, with a bar from least to most. The table "
        "has the numbers.",
        x_label="epsilon",
        y_label=by.name,
        x=ends,
        y=rounded_out(min(every), max(every)),
        lines=[
            *(Line([(ends[0], level), (ends[1], level)], style) for style, level in levels),
            Line([(epsilon, mean) for epsilon, mean, _, _ in finite]),
        ],
        whiskers=[Whisker(*point) for point in finite],
        diamonds=diamonds,
        log_x=True,
    )


def _legend(model: Any, found: Evaluation, curve: Curve) -> Markup:
    by = _measured_by(found, curve)
    items = [("1", "other fits" if curve.repeats == 1 else "other fits, mean and range")]
    if is_private(model) and by.own is not None:
        items.append(("diamond", f"this model, on all {found.rows:,} public rows"))
    if any(math.isinf(point[0]) for point in curve.points):
        items.append(("limit", "other fits without privacy, mean"))
    if by.trivial is not None:
        items.append(("trivial", by.trivial_answer))
    return legend(items, "epsilons")


def _table(model: Any, found: Evaluation, curve: Curve) -> Markup:
    rows: list[tuple[str, ...]] = [
        (_shown(epsilon), *map(score_text, values)) for epsilon, *values in sorted(curve.points)
    ]
    own, by = _shown(epsilon_of(model.privacy_)), _measured_by(found, curve)
    if by.own is not None:
        rows.append((f"This model: {own}", score_text(by.own), "–", "–"))
    if by.trivial is not None:
        rows.append((by.trivial_answer.capitalize(), score_text(by.trivial), "–", "–"))
    return table(f"{by.name} by epsilon, in numbers", ("Epsilon", "Mean", "Least", "Most"), rows)


def _shown(epsilon: float) -> str:
    return "∞ (not private)" if math.isinf(epsilon) else number(epsilon)
