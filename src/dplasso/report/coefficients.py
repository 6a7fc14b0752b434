"""The largest coefficients: a table with a column that is a bar chart.

If columns have ranges or bounds of their own, a coefficient per unit says little: one year of age
changes the margin less than a word does, a hundred years change it more. Such coefficients are
ranked by how far they can move the margin: the coefficient times the width of its column's range.
"""

from typing import Any, NamedTuple

import numpy as np

from dplasso.report.cautions import noise
from dplasso.report.charts import bar, compact, rounded_out
from dplasso.report.features import explained, target_equals
from dplasso.report.headline import nonzeros
from dplasso.report.markup import Markup, callout, folded, join, section, tag
from dplasso.report.names import column_name, number, output_name, quoted, shortened
from dplasso.report.scale import (
    bounds_of,
    has_widths,
    is_centred,
    largest_bound,
    norm_of,
    radius_of,
    scale_of,
    widths_of,
)
from dplasso.report.weights import moved, weights_of

MOST = 500  # coefficients on the page
FIRST = 30  # coefficients shown until the reader asks for all
_MOST_INTERCEPTS = 20

_LARGEST = 1e300  # what is drawn stays finite, whatever a file holds


class Coefficient(NamedTuple):
    column: int
    output: int
    value: float
    reach: float  # the value, times the width of its column's range if columns differ in it


def coefficients(model: Any) -> Markup:
    """Return the chart, controls to search it, and the intercept."""
    listed, count = largest(model), nonzeros(model)
    if not listed:
        none = tag("p", "All coefficients are zero.")
        return section("coefficients", "Coefficients", none, _intercepts(model), _size(model))
    words = noise(model)
    note = f"The model has {count:,} nonzero coefficients"
    note += f"; the {MOST} largest are listed." if count > MOST else ", all listed."
    return section(
        "coefficients",
        "Coefficients",
        tag("p", note, " ", *_meaning(model)),
        callout("note", "Drawn with noise.", words) if words else Markup(),
        explained(model),
        _controls(model, listed),
        _chart(model, listed),
        _intercepts(model),
        _size(model),
    )


def largest(model: Any, most: int = MOST) -> list[Coefficient]:
    """Return nonzero coefficients by decreasing reach. Columns without one take no memory."""
    weights = weights_of(model)
    reach = weights.data
    if has_widths(model):
        with np.errstate(over="ignore"):
            reach = reach * widths_of(model, weights.indices)
    reach = np.clip(reach, -_LARGEST, _LARGEST)
    outputs = np.repeat(np.arange(weights.shape[0]), np.diff(weights.indptr))
    falling = np.argsort(-np.abs(reach), kind="stable")[:most]
    fields = (weights.indices, outputs, weights.data, reach)
    found = zip(*(part[falling].tolist() for part in fields), strict=True)
    return [Coefficient(*parts) for parts in found if parts[2] != 0.0]


def _meaning(model: Any) -> list[Any]:
    if not hasattr(model, "classes_"):
        return ["A positive one raises the prediction, a negative one lowers it."]
    if len(model.classes_) == 2:
        against, towards = (quoted(shortened(output)) for output in model.classes_)
        return [
            *("A positive one speaks for ", target_equals(model), towards),
            *(", a negative one for ", target_equals(model), against, "."),
        ]
    return ["A positive one speaks for its class, a negative one against it."]


def _controls(model: Any, listed: list[Coefficient]) -> Markup:
    controls = [
        tag("label", "Find a feature", Markup('<input type="search" id="find" autocomplete="off">'))
    ]
    outputs = sorted({found.output for found in listed})
    if len(model.intercept_) > 1:
        every = tag("option", "All classes", value="")
        options = (tag("option", output_name(model, k), value=k) for k in outputs)
        controls.append(
            tag("label", "Class", tag("select", every, *options, id="class", autocomplete="off"))
        )
    if len(listed) > FIRST:
        text = f"Show all {len(listed)}"
        controls.append(
            tag(
                "button",
                text,
                type="button",
                id="all",
                aria_expanded="false",
                aria_controls="bars",
                data_more=text,
                data_less=f"Show {FIRST} at most",
            )
        )
    status = tag("p", "", id="shown", role="status")
    return tag("div", *controls, status, class_="controls", data_first=FIRST)


def _chart(model: Any, listed: list[Coefficient]) -> Markup:
    edge = rounded_out(0.0, abs(listed[0].reach))[1]
    ends = [tag("span", compact(end)) for end in (-edge, 0.0, edge)]
    caption, amount = "Coefficients by falling size, per unit of the feature", "Value"
    scaled = has_widths(model)
    if scaled:
        caption = (
            f"Coefficients by how far they can move {moved(model)}: times the width of their "
            "column's range, or times the bound of a column without one"
        )
        amount = "Times width"
    heads = (
        tag("th", "Feature", scope="col"),
        tag("td", tag("div", *ends, class_="ends", aria_hidden="true")),
        tag("th", amount, scope="col", class_="amount"),
    )
    return tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", *heads)),
        tag("tbody", *(_row(model, found, edge, scaled) for found in listed)),
        id="bars",
        class_="bars",
    )


def _row(model: Any, found: Coefficient, edge: float, scaled: bool) -> Markup:
    details = []
    if hasattr(model, "feature_names_in_"):
        details.append(join(f"column {found.column}"))
    label = output_name(model, found.output)
    if label is not None:
        details.append(join("class ", quoted(label)))
    small = tag("small", Markup(" · ".join(details))) if details else Markup()
    unit = tag("small", " ", number(found.value, "#.4g"), " per unit") if scaled else Markup()
    return tag(
        "tr",
        tag("th", quoted(column_name(model, found.column)), small, scope="row"),
        tag("td", bar(found.reach, edge)),
        tag("td", number(found.reach, "#.4g"), unit, class_="amount"),
        data_class=found.output,
    )


def _intercepts(model: Any) -> Markup:
    values = model.intercept_[:_MOST_INTERCEPTS].tolist()
    if len(model.intercept_) == 1:
        return tag("p", f"Intercept: {number(values[0])}.")
    parts = []
    for output, value in enumerate(values):
        parts.append(join(quoted(str(output_name(model, output))), " ", number(value)))
    more = len(model.intercept_) - len(values)
    rest = f" and {more} more." if more else "."
    return tag("p", "Intercepts: ", Markup(", ".join(parts)), rest)


def _size(model: Any) -> Markup:
    """Say how much of the ball is used, measured as the radius is."""
    if "radius" not in model.privacy_["bounds"]:
        fitted = getattr(model, "fitted_", None)
        scaled = model.row_map != "as_is" if fitted is None else fitted.reader.unit_rows
        how = "scaled to length 1" if scaled else "as they are"
        return tag("p", f"Coefficients are of rows {how}.")
    used, radius = number(norm_of(model)), number(radius_of(model))
    words = (
        "A fit holds coefficients small: their sizes, the intercept's included, add up to the "
        f"radius at most. Here they add up to {used}; the radius allows {radius}."
    )
    if model.fitted_.correction is not None:
        words += (
            " That is before the correction of probabilities, which then multiplied all of them by "
            f"{number(scale_of(model))}."
        )
    largest = number(largest_bound(model))
    if is_centred(model):
        words += (
            " Coefficients count as those of columns that are centred and scaled by their range, "
            "or scaled by their bound, and the intercept as that of a row in the middle of all "
            "ranges."
        )
    elif bounds_of(model) is not None:
        words += (
            " As columns have different bounds, a coefficient counts by what it can do: times its "
            f"column's bound, over the largest bound, {largest}. The intercept counts as one whose "
            "bound is 1."
        )
    elif largest != "1":
        words += f" The intercept counts over the bound of entries, {largest}."
    return folded("How large the coefficients are, and may be", tag("p", words))
