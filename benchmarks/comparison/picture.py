"""The table as small panels, one per set: success against epsilon."""

from pathlib import Path
from typing import Any

from harness.results import drawn_from, legend_below, mark_epsilons, pyplot

from comparison.ours import DEFAULT, FRANK_WOLFE
from comparison.references import NOT_PRIVATE, TRIVIAL

OURS = {"color": "C3", "marker": "o", "lw": 2.2, "ms": 5, "zorder": 5}
BEST = {"color": "C0", "marker": "s", "lw": 1.4, "ms": 4}
OTHER = {"color": "C2", "marker": "^", "lw": 1.1, "ms": 4, "ls": "--"}
LINES = {"default": OURS, "best tuned rival": BEST, "Frank-Wolfe": OTHER}
LEVELS = {NOT_PRIVATE: "-.", TRIVIAL: ":"}
ACROSS = 5


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """One panel for every set of which the default is known."""
    plt = pyplot()
    known = [row for row in rows if DEFAULT in row["cells"]]
    names = list(dict.fromkeys(row["set"] for row in known))
    down = -(-len(names) // ACROSS)
    figure, panels = plt.subplots(
        down, ACROSS, figsize=(13.0, 2.5 * down + 0.9), squeeze=False, layout="constrained"
    )
    for name, axes in zip(names, panels.flat, strict=False):
        _panel(axes, [row for row in known if row["set"] == name])
    for axes in panels.flat[len(names) :]:
        axes.set_axis_off()
    legend_below(figure, panels.flat, [*LINES, *LEVELS])
    figure.suptitle(
        "Success on test rows: the default untuned, rivals tuned on the test rows",
        x=0.01,
        ha="left",
    )
    figure.savefig(path, dpi=110, metadata=drawn_from(rows))
    plt.close(figure)


def _panel(axes: Any, rows: list[dict[str, Any]]) -> None:
    """One set. Frank-Wolfe is cut where it would press the others together."""
    _line(axes, rows, lambda row: DEFAULT, "default", 1.0)
    _line(axes, rows, lambda row: row.get("best_rival"), "best tuned rival", 1.05)
    for method, style in LEVELS.items():
        if method in rows[0]["cells"]:
            level = rows[0]["cells"][method]["mean"]
            axes.axhline(level, color="0.55", lw=1.1, ls=style, label=method)
    low, high = axes.get_ylim()
    _line(axes, rows, lambda row: FRANK_WOLFE, "Frank-Wolfe", 0.95)
    axes.set_ylim(low, high)
    mark_epsilons(axes, [row["epsilon"] for row in rows])
    axes.set_title(f"{rows[0]['set']} ({rows[0]['measure']})", fontsize=9, loc="left")
    axes.tick_params(labelsize=8)
    axes.set_xlabel("ε (log scale)", fontsize=8)


def _line(axes: Any, rows: list[dict[str, Any]], method: Any, label: str, beside: float) -> None:
    """Means with bars for 95 % intervals, next to each other where they would overlap."""
    known = [(r["epsilon"], r["cells"][method(r)]) for r in rows if method(r) in r["cells"]]
    if known:
        axes.errorbar(
            [epsilon * beside for epsilon, _ in known],
            [cell["mean"] for _, cell in known],
            [cell["half"] for _, cell in known],
            capsize=2,
            elinewidth=1,
            label=label,
            **LINES[label],
        )
