"""The section on columns: a bar per column of the table, and its features on demand."""

from typing import Any

from dplasso.report.charts import bar, length_bar
from dplasso.report.features import schema_of
from dplasso.report.importance import MOST_PARTS, Importance, Part, importances
from dplasso.report.markup import Markup, join, section, tag
from dplasso.report.names import number, quoted, shortened
from dplasso.report.weights import is_private, moved, weights_of


def importance_section(model: Any) -> Markup:
    """Return the columns by falling importance.

    It is empty where each column is one coefficient: the section on coefficients has them all.
    """
    if schema_of(model) is None and weights_of(model).shape[0] == 1:
        return Markup()
    found = importances(model)
    if not found:
        return Markup()
    rows = (_row(model, one, found[0].size) for one in found)
    return section(
        "columns",
        "Importance of the columns",
        tag("p", *_meaning(model)),
        tag("ul", *rows, class_="columns"),
    )


def _meaning(model: Any) -> list[str]:
    words = [
        f"How far a column can move {moved(model)}: the length (the root of the sum of squares) of "
        "the coefficients of its features, each times the width of the feature's public range. "
        "Columns can be compared with each other by it."
    ]
    if is_private(model):
        words.append(
            " All of it holds noise, and a column with many features gathers the noise of all of "
            "them. A short bar may be noise alone, and so may a long one: the coefficient of a "
            "feature that few rows have, or none, is hardly held back by any row."
        )
    return words


def _row(model: Any, found: Importance, largest: float) -> Markup:
    line = join(
        tag("span", quoted(shortened(found.column)), class_="name"),
        length_bar(found.size, largest),
        tag("span", number(found.size, ".3g"), class_="amount"),
    )
    if len(found.parts) == 1 and found.parts[0].feature == found.column:
        ((_, _, coefficient, _),) = found.parts
        sign = "raises" if coefficient > 0 else "lowers"
        return tag("li", tag("div", line, class_="column"), tag("small", f"{sign} {moved(model)}"))
    edge = abs(found.parts[0].reach)
    heads = (
        tag("th", "Feature", scope="col"),
        tag("td", ""),
        tag("th", "Times width", scope="col", class_="amount"),
    )
    caption = f"{found.features:,} features" if found.features > 1 else "1 feature"
    if found.features > MOST_PARTS or len(found.parts) == MOST_PARTS:
        caption += f"; the {len(found.parts)} largest coefficients"
    parts = tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", *heads)),
        tag("tbody", *(_part(part, edge) for part in found.parts)),
        class_="bars",
    )
    return tag("li", tag("details", tag("summary", line, class_="column"), parts))


def _part(part: Part, edge: float) -> Markup:
    label = (
        Markup() if part.output is None else tag("small", "class ", quoted(shortened(part.output)))
    )
    return tag(
        "tr",
        tag("th", quoted(shortened(part.feature)), label, scope="row"),
        tag("td", bar(part.reach, edge)),
        tag("td", number(part.reach, ".3g"), class_="amount"),
    )
