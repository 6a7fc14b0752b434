"""The table: a row for every set and epsilon, as data and as aligned text."""

from typing import Any

from harness.intervals import interval
from rivals.diffprivlib_rival import MOST_COLUMNS

from comparison import cases
from comparison.columns import COLUMNS, RIVALS, known
from comparison.memory import Memory
from comparison.ours import OURS

CLOSE = 0.01


def table(memory: Memory, epsilons: list[float], seeds: int) -> list[dict[str, Any]]:
    """What is known of every set: means, 95 % intervals, and how ours compares."""
    rows = []
    for name in cases.SETS:
        facts = memory.facts(name)
        for epsilon in epsilons if facts is not None else ():
            cells = {}
            for column in COLUMNS:
                values = known(memory, name, column, epsilon, seeds)
                if values:
                    settings = memory.picked(name, column, epsilon)
                    cells[column] = {**interval(values), "settings": settings}
            if cells:
                rows.append({"set": name, "epsilon": epsilon, **facts, "cells": cells})
                rows[-1] |= comparison(name, epsilon, cells)
    return rows


def comparison(name: str, epsilon: float, cells: dict[str, dict]) -> dict[str, Any]:
    """The best rival, ours less it, and the goals."""
    found: dict[str, Any] = {"goal": cases.goal(name, epsilon)}
    found["goal_1000"] = cases.GOALS_OF_1000.get((name, epsilon))
    found["published"] = cases.PUBLISHED.get(name) if epsilon == 0.1 else None
    rivals = [column for column in RIVALS if column in cells]
    if rivals:
        found["best_rival"] = max(rivals, key=lambda column: cells[column]["mean"])
    if rivals and "ours" in cells:
        difference = cells["ours"]["mean"] - cells[found["best_rival"]]["mean"]
        found |= {"difference": difference, "verdict": verdict(difference)}
    return found


def verdict(difference: float) -> str:
    if difference >= 0.0:
        return "ahead"
    return "within .01" if difference >= -CLOSE else "behind"


def summary(rows: list[dict[str, Any]]) -> str:
    """How many cells are ahead of the best rival, and how many well behind; how many goals hold."""
    verdicts = [row["verdict"] for row in rows if "verdict" in row]
    met = [
        row["cells"][column]["mean"] >= row[goal]
        for row in rows
        for column, goal in (("ours", "goal"), ("ours-1000", "goal_1000"))
        if row[goal] is not None and column in row["cells"]
    ]
    return (
        f"ours, untuned, against the best of the tuned rivals: ahead in {verdicts.count('ahead')} "
        f"of {len(verdicts)} cells, more than .01 behind in {verdicts.count('behind')}; "
        f"{sum(met)} of {len(met)} goals are met"
    )


LEGEND = """\
ours           PrivateLassoClassifier(solver="auto"), nothing tuned; -1000, -100, -30: n_nonzero
search         PrivateSearch over maps of rows, its cost within the budget
FW             solver="frank_wolfe"; FW-sparsifier: with a Sparsifier as it comes
DP-SGD, DP-GD, AMP, diffprivlib: settings picked on the test rows at no charge, which no user can
have, then run on fresh seeds; benchmarks/rivals says what was tried
difference     ours less the best rival; ahead, within .01, or behind by more
goal           of ours, and after a slash of ours-1000; published: the highest figure found
Means over fresh seeds, +- half the 95 % interval of the mean. delta is 1 / rows^2."""


def text(rows: list[dict[str, Any]]) -> str:
    """The table, aligned."""
    head = ["set", "measure", "eps", "majority", "best rival", "", "ours", "+-", "difference", ""]
    lines = [[*head, "goal", *(name for name in COLUMNS if name != "ours")]]
    for row in rows:
        best, mine = row.get("best_rival"), row["cells"].get("ours")
        lines.append(
            [
                row["set"],
                row["measure"],
                f"{row['epsilon']:g}",
                f"{row['majority']:.3f}",
                best or "-",
                _figure(row["cells"].get(best)),
                _figure(mine),
                f"{mine['half']:.3f}" if mine else "-",
                f"{row['difference']:+.3f}" if "difference" in row else "-",
                row.get("verdict", ""),
                _goal(row),
                *(_cell(row, column) for column in COLUMNS if column != "ours"),
            ]
        )
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    left = {0, 1, 4, 9, 10}
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place in left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _figure(cell: dict | None) -> str:
    return "-" if cell is None else f"{cell['mean']:.3f}"


def _cell(row: dict[str, Any], column: str) -> str:
    cell = row["cells"].get(column)
    if cell is not None:
        return f"{cell['mean']:.3f} +-{cell['half']:.3f}"
    if column == "diffprivlib" and row["columns"] > MOST_COLUMNS:
        return "dense only"
    return "no cut" if OURS.get(column, {}).get("n_nonzero", 0) >= row["columns"] else "-"


def _goal(row: dict[str, Any]) -> str:
    goals = [row["goal"], row["goal_1000"]]
    said = " / ".join("-" if goal is None else f"{goal:.3f}" for goal in goals if goal or goals[0])
    said = "-" if row["goal"] is None else said.removesuffix(" / -")
    return said if row["published"] is None else f"{said} (published {row['published']:.3f})"
