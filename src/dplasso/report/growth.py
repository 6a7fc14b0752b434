"""How the model grew: all rounds are replayed from the released vertices alone.

Round t moves by the step 2 / (t + 2) towards a vertex. After round n, the remaining weight of the
step of round t is 2 (t + 1) / ((n + 1) (n + 2)). Coefficients are therefore sums of whole numbers,
divided by one number per round.
"""

import json
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplasso.fitting.registry import fitter_of
from dplasso.report.charts import Line, Plot, draw, legend, rounded_out, thinned
from dplasso.report.coefficients import largest
from dplasso.report.headline import has_rounds, nonzeros
from dplasso.report.markup import Markup, join, section, tag
from dplasso.report.names import column_name, number, output_name, quoted
from dplasso.report.scale import (
    bounds_of,
    has_widths,
    largest_bound,
    radius_of,
    scale_of,
    widths_of,
)
from dplasso.report.weights import is_private

PATHS = 6  # coefficients whose path is drawn; the style sheet has as many colours
_POINTS = 300  # points of a line
_LISTED = 1500  # rounds that the slider can show one by one


class Growth(NamedTuple):
    """Per round: nonzero coefficients, and the 1-norm with the intercept, as the ball measures."""

    nonzeros: NDArray[np.int64]
    norms: NDArray[np.float64]


def growth(model: Any) -> Markup:
    """Return charts over the rounds, and a slider that shows what each round released.

    A fit without rounds has a sentence on its course, if there is anything to say.
    """
    heading = "How the model grew"
    text = fitter_of(model.solver_).course(len(model.vertices_), model.n_iter_)
    if not has_rounds(model):
        return section("growth", "How the model was fitted", tag("p", text)) if text else Markup()
    if not is_private(model):
        text += " Steps were searched for and not kept: only what was chosen is known."
        chosen = _chosen(model)
        charts = [draw(_count_plot("Coefficients chosen so far", chosen))]
        return section("growth", heading, tag("p", text), _looker(model, chosen, None), *charts)
    history = replay(model)
    text += " All below is computed from those: it costs no more privacy."
    dropped = int(history.nonzeros[-1]) - nonzeros(model)
    if dropped > 0:
        text += f" At the end, the {dropped:,} smallest coefficients were dropped."
    plots = (
        _count_plot("Nonzero coefficients", history.nonzeros),
        _norm_plot(history.norms, radius_of(model)),
        _path_plot(model),
    )
    return section(
        "growth",
        heading,
        tag("p", text),
        _looker(model, history.nonzeros, history.norms),
        tag("div", *map(draw, plots), class_="charts"),
        _legend(model),
    )


def replay(model: Any) -> Growth:
    """Return the number of nonzeros and the 1-norm after every round."""
    keys, pushes = _keys(model), _pushes(model)
    order = np.argsort(keys, kind="stable")
    sums = np.cumsum(pushes[order])
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    before_group = np.repeat(
        sums[starts] - pushes[order][starts], np.diff(starts, append=len(keys))
    )
    after = np.empty_like(pushes)
    after[order] = sums - before_group
    before = after - pushes
    feature = model.vertices_[:, 0] < model.n_features_in_
    changed = feature * ((after != 0).astype(np.int64) - (before != 0))
    norms = np.cumsum(np.abs(after) - np.abs(before)) / _denominators(len(keys))
    return Growth(np.cumsum(changed), norms * radius_of(model))


def _chosen(model: Any) -> NDArray[np.int64]:
    """Number of coefficients chosen up to every round, not counting the intercept."""
    first = np.zeros(len(model.vertices_), np.int64)
    first[np.unique(_keys(model), return_index=True)[1]] = 1
    return np.cumsum(first * (model.vertices_[:, 0] < model.n_features_in_))


def path(model: Any, column: int, output: int) -> NDArray[np.float64]:
    """A coefficient after every round, before any is dropped, by how far it can move the margin.

    It is times the width of its column's range if columns differ in it. All are times the scale
    that corrects probabilities, so that paths end at the coefficients that are listed.
    """
    chosen = _keys(model) == column * len(model.intercept_) + output
    sums: NDArray[np.float64] = np.cumsum(chosen * _pushes(model)) / _denominators(len(chosen))
    factor, bounds = 1.0, bounds_of(model)
    if bounds is not None:
        factor = largest_bound(model) / float(bounds[column])
    if has_widths(model):
        factor *= float(widths_of(model, np.array([column]))[0])
    return scale_of(model) * radius_of(model) * factor * sums


def _keys(model: Any) -> NDArray[np.int64]:
    """Return an identifying number of the coefficient that each round chose."""
    vertices, outputs = model.vertices_, len(model.intercept_)
    output = vertices[:, 2] if outputs > 1 else 0
    keys: NDArray[np.int64] = vertices[:, 0] * outputs + output
    return keys


def _pushes(model: Any) -> NDArray[np.int64]:
    rounds = np.arange(1, len(model.vertices_) + 1)
    pushes: NDArray[np.int64] = model.vertices_[:, 1] * 2 * (rounds + 1)
    return pushes


def _denominators(rounds: int) -> NDArray[np.float64]:
    n = np.arange(1.0, rounds + 1.0)
    return (n + 1.0) * (n + 2.0)


def _line(values: NDArray[Any], style: str = "1", first: int = 0, stepped: bool = False) -> Line:
    points = [(0.0, 0.0), *enumerate(values.tolist(), start=1)][first:]
    return Line([(x, y) for x, y in thinned(points, _POINTS)], style, stepped)


def _count_plot(title: str, counts: NDArray[np.int64]) -> Plot:
    rounds, last = len(counts), int(counts[-1])
    return Plot(
        name="count",
        title=title,
        description=f"A line over {rounds} rounds that ends at {last} coefficients.",
        x_label="round",
        y_label="coefficients",
        x=(0.0, float(rounds)),
        y=rounded_out(0.0, max(1.0, float(counts.max()))),
        lines=[_line(counts, stepped=rounds <= _POINTS)],
        cursor=True,
    )


def _norm_plot(norms: NDArray[np.float64], radius: float) -> Plot:
    rounds, last = len(norms), float(norms[-1])
    limit = Line([(0.0, radius), (float(rounds), radius)], "limit")
    return Plot(
        name="norm",
        title="Sum of the sizes of the weights",
        description=f"A line that ends at {number(last)}; dashed, the radius {number(radius)}, "
        "which it cannot exceed. The section on coefficients says how sizes are counted.",
        x_label="round",
        y_label="sum of sizes (dashed: the radius)",
        x=(0.0, float(rounds)),
        y=rounded_out(0.0, radius),
        lines=[limit, _line(norms)],
        cursor=True,
    )


def _path_plot(model: Any) -> Plot:
    chosen = largest(model, PATHS)
    paths = [path(model, found.column, found.output) for found in chosen]
    # The first steps are so long that paths jump by most of the radius.
    rounds = len(model.vertices_)
    first = rounds // 10
    every = np.concatenate([np.zeros(1), *(found[max(0, first - 1) :] for found in paths)])
    scaled = has_widths(model)
    return Plot(
        name="paths",
        title=f"Paths of the largest {'contributions' if scaled else 'coefficients'}",
        description=f"A line for each of the {len(paths)} largest coefficients, from round {first} "
        "on; the list below the charts has their names and last values.",
        x_label="round",
        y_label="coefficient times width" if scaled else "coefficient",
        x=(float(first), float(rounds)),
        y=rounded_out(float(every.min()), float(every.max())),
        lines=[_line(found, str(style), first) for style, found in enumerate(paths, start=1)],
        cursor=True,
    )


def _legend(model: Any) -> Markup:
    named = (_called(model, found.column, found.output) for found in largest(model, PATHS))
    items = [(str(style), name) for style, name in enumerate(named, start=1)]
    heading = tag("h3", "Paths", id="paths-legend")
    return tag("div", heading, legend(items, "paths-legend"))


def _called(model: Any, column: int, output: int) -> Markup:
    label = output_name(model, output)
    name = quoted(column_name(model, column))
    return name if label is None else join(name, " for ", quoted(label))


def _looker(model: Any, counts: NDArray[np.int64], norms: NDArray[np.float64] | None) -> Markup:
    """Return a slider; the page shows a line of text for its position."""
    rounds = len(model.vertices_)
    listed = [int(t) for (t,) in thinned([(t,) for t in range(1, rounds + 1)], _LISTED)]
    names: dict[tuple[str, str | None], int] = {}
    rows = []
    for t in listed:
        column, sign, *rest = model.vertices_[t - 1].tolist()
        name = column_name(model, column), output_name(model, rest[0]) if rest else None
        norm = None if norms is None else float(f"{norms[t - 1]:.4g}")
        place = names.setdefault(name, len(names))
        rows.append((t, sign, place, int(counts[t - 1]), norm))
    data = json.dumps({"names": list(names), "rounds": rows}, separators=(",", ":"))
    last = len(listed) - 1
    slider = Markup(f'<input type="range" id="round" min="0" max="{last}" value="{last}">')
    return tag(
        "div",
        tag("label", "Look at a round", slider),
        tag("p", "", id="released", role="status"),
        class_="controls",
        id="looker",
        data_rounds=data,
    )
