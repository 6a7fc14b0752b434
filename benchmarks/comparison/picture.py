"""The table as small panels, one a set: success against epsilon."""

from pathlib import Path
from typing import Any

from harness.results import legend_below, mark_epsilons, pyplot

# Ours stand out; a rival keeps its colour in all panels.
LINES = {
    "ours": {"color": "C3", "marker": "o", "lw": 2.2, "ms": 5, "zorder": 5},
    "ours-1000": {"color": "C3", "marker": "v", "lw": 1.2, "ms": 4, "ls": "--", "zorder": 4},
    "search": {"color": "C1", "marker": "P", "lw": 1.2, "ms": 5, "ls": "--", "zorder": 4},
    "FW": {"color": "C5", "marker": "^", "lw": 1.2, "ms": 4, "ls": "--"},
    "DP-SGD": {"color": "C0", "marker": "s", "lw": 1.2, "ms": 4},
    "DP-GD": {"color": "C2", "marker": "D", "lw": 1.2, "ms": 4},
    "AMP": {"color": "C4", "marker": "x", "lw": 1.2, "ms": 5},
    "diffprivlib": {"color": "0.45", "marker": "+", "lw": 1.2, "ms": 6},
}
ACROSS = 4


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    plt = pyplot()
    names = list(dict.fromkeys(row["set"] for row in rows))
    down = -(-len(names) // ACROSS)
    figure, panels = plt.subplots(
        down, ACROSS, figsize=(11.5, 2.6 * down + 0.9), squeeze=False, layout="constrained"
    )
    for name, axes in zip(names, panels.flat, strict=False):
        _panel(axes, [row for row in rows if row["set"] == name])
    for axes in panels.flat[len(names) :]:
        axes.set_axis_off()
    legend_below(figure, panels.flat, [*LINES, "majority class"])
    figure.suptitle(
        "Success on test rows: ours untuned, rivals tuned on the test rows", x=0.01, ha="left"
    )
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _panel(axes: Any, rows: list[dict[str, Any]]) -> None:
    """One set: a line a column, bars for 95 % intervals, side by side where they would overlap."""
    if rows[0]["measure"] == "accuracy":
        axes.axhline(rows[0]["majority"], color="0.7", lw=1, ls=":", label="majority class")
    for place, (column, style) in enumerate(LINES.items()):
        known = [row for row in rows if column in row["cells"]]
        if known:
            axes.errorbar(
                [row["epsilon"] * 1.06 ** (place - len(LINES) / 2) for row in known],
                [row["cells"][column]["mean"] for row in known],
                [row["cells"][column]["half"] for row in known],
                capsize=2,
                elinewidth=1,
                label=column,
                **style,
            )
    epsilons = sorted({row["epsilon"] for row in rows})
    mark_epsilons(axes, epsilons)
    axes.set_title(f"{rows[0]['set']} ({rows[0]['measure']})", fontsize=9, loc="left")
    axes.tick_params(labelsize=8)
    axes.set_xlabel("ε (log scale)", fontsize=8)
