"""The plot of the README: success against epsilon on a table and on a text.

It is drawn for a phone: two panels, few words, and type that can be read at a third of its size.
"""

from pathlib import Path
from typing import Any

from harness.results import drawn_from, mark_epsilons, pyplot

from comparison.ours import DEFAULT
from comparison.references import NOT_PRIVATE, TRIVIAL

SHOWN = {"adult": "a census table", "reuters21578_usa": "news, {columns:,} words"}
OURS, RIVAL, LEVEL = "#b3362b", "#1b5e9e", "0.3"


def draw_front(rows: list[dict[str, Any]], path: Path) -> None:
    """One panel per set; the first names the levels, the last names the curves."""
    plt = pyplot()
    style = {"font.size": 15, "axes.spines.top": False, "axes.spines.right": False}
    with plt.rc_context(style):
        figure, panels = plt.subplots(1, len(SHOWN), figsize=(6.2, 3.9), layout="constrained")
        for name, axes in zip(SHOWN, panels, strict=True):
            _panel(axes, [row for row in rows if row["set"] == name], SHOWN[name])
        first, *_, last = ([row for row in rows if row["set"] == name] for name in SHOWN)
        _label_levels(panels[0], first)
        _label_curves(panels[-1], last)
        figure.supylabel("accuracy", fontsize=16)
        figure.supxlabel("epsilon: more privacy to the left", fontsize=16)
        figure.savefig(path, dpi=160, metadata=drawn_from(rows))
        plt.close(figure)


def _panel(axes: Any, rows: list[dict[str, Any]], title: str) -> None:
    epsilons = [row["epsilon"] for row in rows]
    for method, style in ((NOT_PRIVATE, "--"), (TRIVIAL, ":")):
        axes.axhline(rows[0]["cells"][method]["mean"], color=LEVEL, ls=style, lw=2.0)
    rivals = [row["cells"][row["best_rival"]] for row in rows]
    ours = [row["cells"][DEFAULT] for row in rows]
    for cells, color, marker, width in ((rivals, RIVAL, "s", 2.4), (ours, OURS, "o", 3.2)):
        means, halves = ([cell[part] for cell in cells] for part in ("mean", "half"))
        axes.errorbar(
            epsilons, means, halves, color=color, marker=marker, ms=7, lw=width, capsize=4
        )
    mark_epsilons(axes, epsilons)
    axes.locator_params(axis="y", nbins=4, steps=[1, 5, 10])
    axes.margins(y=0.1)
    axes.set_title(title.format(columns=rows[0]["columns"]), loc="left", fontsize=16)


def _label_levels(axes: Any, rows: list[dict[str, Any]]) -> None:
    """Name the levels without privacy and without a model, above their lines."""
    for method, text in ((NOT_PRIVATE, "not private"), (TRIVIAL, "majority class")):
        level = (rows[0]["epsilon"], rows[0]["cells"][method]["mean"])
        axes.annotate(text, level, (-4, 6), textcoords="offset points", color=LEVEL)


def _label_curves(axes: Any, rows: list[dict[str, Any]]) -> None:
    """Name both curves, where they rise."""
    middle = rows[1]
    ours, rival = (middle["cells"][name]["mean"] for name in (DEFAULT, middle["best_rival"]))
    place = {"textcoords": "offset points", "ha": "right"}
    axes.annotate(
        "dplasso", (middle["epsilon"], ours), (-10, -2), color=OURS, weight="bold", **place
    )
    axes.annotate("best rival,\ntuned", (middle["epsilon"], rival), (68, -56), color=RIVAL, **place)
