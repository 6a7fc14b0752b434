"""Where results are saved: text to read, JSON to compute with, plots."""

import hashlib
import json
from pathlib import Path
from typing import Any

from harness import ROOT

RESULTS = ROOT / "benchmarks" / "results"


def save(name: str, text: str | None = None, data: Any = None, *, folder: Path = RESULTS) -> None:
    """Save ``name.txt`` and ``name.json``, those that are given."""
    folder.mkdir(exist_ok=True)
    if text is not None:
        (folder / f"{name}.txt").write_text(text.rstrip("\n") + "\n", encoding="utf-8")
    if data is not None:
        (folder / f"{name}.json").write_text(json.dumps(data, indent=1) + "\n")


def saved(name: str) -> Any:
    """What ``name.json`` holds."""
    return json.loads((RESULTS / f"{name}.json").read_text())


def drawn_from(rows: Any) -> dict[str, str]:
    """What a plot file says of its numbers, so that a test can compare them with saved ones."""
    return {"Source": hashlib.sha256(json.dumps(rows).encode()).hexdigest()}


def pyplot() -> Any:
    """matplotlib's pyplot, drawing to files only."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def save_plot(figure: Any, name: str, *, folder: Path = RESULTS) -> None:
    """Save ``name.png``."""
    folder.mkdir(exist_ok=True)
    figure.savefig(folder / f"{name}.png", dpi=130)


def draw_memory(table: list[dict], name: str) -> None:
    """Draw the memory of the largest actor by the number of actors, a line for each set."""
    figure, axes = pyplot().subplots(figsize=(5, 3.2), layout="constrained")
    for one in dict.fromkeys(row["set"] for row in table):
        own = [row for row in table if row["set"] == one]
        axes.plot([r["actors"] for r in own], [r["memory"] for r in own], "o-", label=one)
    axes.set(xlabel="actors", ylabel="memory of the largest actor, MiB", ylim=(0, None))
    axes.set_xticks(sorted({row["actors"] for row in table}))
    axes.legend(frameon=False)
    save_plot(figure, name)


def mark_epsilons(axes: Any, epsilons: list[float]) -> None:
    """A logarithmic axis of epsilon whose ticks are the values that were tried."""
    axes.set_xscale("log")
    axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    axes.minorticks_off()
    axes.grid(alpha=0.3)


def legend_below(figure: Any, axes: Any, order: list[str] | None = None, columns: int = 9) -> None:
    """One legend for all panels, each label once, in the order given or of first appearance."""
    entries: dict[str, Any] = {}
    for panel in axes:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    labels = sorted(entries, key=order.index) if order else list(entries)
    figure.legend(
        [entries[label] for label in labels],
        labels,
        loc="outside lower center",
        ncols=min(columns, len(labels)),
        frameon=False,
    )
