"""The largest coefficients: a table whose middle column is a bar chart."""

from typing import Any, NamedTuple

import numpy as np

from dplasso.report.charts import bar, rounded_out
from dplasso.report.headline import nonzeros
from dplasso.report.markup import Markup, join, section, tag
from dplasso.report.names import column_name, number, output_name, quoted

MOST = 500  # coefficients on the page
FIRST = 30  # of them shown before someone asks for all
_MOST_INTERCEPTS = 20


class Coefficient(NamedTuple):
    column: int
    output: int
    value: float


def coefficients(model: Any) -> Markup:
    """Chart, controls to search it, and the intercept."""
    listed, count = largest(model), nonzeros(model)
    if not listed:
        none = tag("p", "All coefficients are zero.")
        return section("coefficients", "Coefficients", none, _intercepts(model))
    note = f"The model has {count:,} nonzero coefficients"
    note += f"; the {MOST} largest are listed." if count > MOST else ", all listed."
    return section(
        "coefficients",
        "Coefficients",
        tag("p", note, " ", *_meaning(model)),
        _controls(model, listed),
        _chart(model, listed),
        _intercepts(model),
    )


def largest(model: Any, most: int = MOST) -> list[Coefficient]:
    """Nonzero coefficients by falling size. Columns without one cost nothing."""
    weights = model._weights
    outputs = np.repeat(np.arange(weights.shape[0]), np.diff(weights.indptr))
    falling = np.argsort(-np.abs(weights.data), kind="stable")[:most]
    found = zip(weights.indices[falling], outputs[falling], weights.data[falling], strict=True)
    return [Coefficient(int(j), int(k), float(value)) for j, k, value in found if value != 0.0]


def _meaning(model: Any) -> list[Any]:
    if not hasattr(model, "classes_"):
        return ["A positive one raises the prediction, a negative one lowers it."]
    if len(model.classes_) == 2:
        against, towards = (quoted(str(output)) for output in model.classes_)
        return ["A positive one speaks for ", towards, ", a negative one for ", against, "."]
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
    edge = rounded_out(0.0, abs(listed[0].value))[1]
    ends = [tag("span", number(end)) for end in (-edge, 0.0, edge)]
    heads = (
        tag("th", "Feature", scope="col"),
        tag("td", tag("div", *ends, class_="ends", aria_hidden="true")),
        tag("th", "Value", scope="col"),
    )
    return tag(
        "table",
        tag("caption", "Coefficients by falling size, per unit of the feature"),
        tag("thead", tag("tr", *heads)),
        tag("tbody", *(_row(model, found, edge) for found in listed)),
        id="bars",
        class_="bars",
    )


def _row(model: Any, found: Coefficient, edge: float) -> Markup:
    details = []
    if hasattr(model, "feature_names_in_"):
        details.append(join(f"column {found.column}"))
    label = output_name(model, found.output)
    if label is not None:
        details.append(join("class ", quoted(label)))
    small = tag("small", Markup(" · ".join(details))) if details else Markup()
    return tag(
        "tr",
        tag("th", quoted(column_name(model, found.column)), small, scope="row"),
        tag("td", bar(found.value, edge)),
        tag("td", number(found.value, "#.4g")),
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
