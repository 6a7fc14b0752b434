"""The table: a row for every set and epsilon, as data and as aligned text."""

import math
import statistics
from collections.abc import Iterable
from typing import Any, NamedTuple

from harness.intervals import interval
from harness.measures import ERROR, LOG_LOSS, RECALIBRATED, sign
from rivals.diffprivlib_rival import MOST_COLUMNS

from comparison.memory import Memory
from comparison.methods import METHODS, RIVALS, fits, is_sound, known
from comparison.ours import DEFAULT, FRANK_WOLFE, OURS, kept
from comparison.references import NOT_PRIVATE, REFERENCES
from comparison.sets import PUBLISHED, SETS, Set

CLOSE = 0.01
LEGEND = """\
default      PrivateLassoClassifier(epsilon) or PrivateLassoRegressor(epsilon, y_bound=...), nothing
             tuned. Declared are delta, n_rows, the classes, the ranges of the columns of tables,
             and a bound on entries where they exceed 1 (splice, skf_madelon, skf_colon, url_subset)
solver       what solver="auto" chose; nonzeros: how many coefficients are not 0, on average
FW           the same with solver="frank_wolfe"
trivial      mean of the training rows, or their shares of classes, for every row
non-private  LinearRegression or LogisticRegression of scikit-learn, the ridge chosen on a fifth of
             the training rows
rivals       settings picked on the test rows at no charge, which no user can have, for success and
             for log-loss apart, then run on fresh seeds; benchmarks/rivals and rivals_tables say
             what was tried. On california diffprivlib's LinearRegression has a WRONG SENSITIVITY:
             it is not private, and not counted
difference   how much better the default is than the best rival: ahead, within .01, or behind
goal         tables and 20_newsgroups: what was asked for; other sets: the figure before tables and
             probabilities were reworked, less .003
calibration  expected calibration error of the predicted class, 15 bins; recalibrated: log-loss of
             the best scale and intercepts, fitted on the test rows
adult_hashed, telco_text: adult with two categories hashed, telco_churn with its categories as text;
             rivals, trivial and non-private are those of the plain tables
Means over fresh seeds, +- half the 95 % interval of the mean. Tables have a fresh split into 80 %
training rows and 20 % test rows for every seed. delta is 1 / rows^2; 1e-6 for 20_newsgroups."""


def table(
    memory: Memory, seeds: int, previous: Iterable[dict[str, Any]] = ()
) -> list[dict[str, Any]]:
    """What is known of every set: means, 95 % intervals, and how the default compares.

    What the memory does not have is taken from the rows ``previous``, with the note when it was
    measured.
    """
    old = {(row["set"], row["epsilon"]): row for row in previous}
    rows = []
    for one in SETS.values():
        for epsilon in one.epsilons:
            before = Before(old.get((one.name, epsilon), {}), old.get((one.plain, epsilon), {}))
            row = _row(memory, one, epsilon, seeds, before)
            its_own = OURS if one.plain else (*OURS, *RIVALS)
            if any(method in row["cells"] for method in its_own):
                rows.append(row)
    return rows


class Before(NamedTuple):
    """Earlier rows: of the set itself, and of the table without hashed columns, if it has any."""

    own: dict[str, Any]
    plain: dict[str, Any]

    def cells(self, part: str) -> dict[str, Any]:
        """Our cells of the set itself, and the others of the plain table if there is one."""
        own, others = self.own.get(part, {}), (self.plain or self.own).get(part, {})
        ours = {method: own[method] for method in OURS if method in own}
        return {method: others[method] for method in others if method not in OURS} | ours


def _row(memory: Memory, one: Set, epsilon: float, seeds: int, before: Before) -> dict[str, Any]:
    cells = _cells(memory, one, epsilon, one.measure, seeds, before.cells("cells"))
    losses = _cells(memory, one, epsilon, LOG_LOSS, seeds, before.cells(LOG_LOSS))
    row = {"set": one.name, "kind": one.kind, "measure": one.measure, "epsilon": epsilon}
    facts = before.own
    row |= memory.facts(one.name) or {
        k: facts[k] for k in ("rows", "columns", "classes") if k in facts
    }
    row |= {"cells": cells, LOG_LOSS: losses, "goal": one.goal(epsilon)}
    row["published"] = PUBLISHED.get(one.name) if epsilon == 0.1 else None
    found = fits(memory, one.name, DEFAULT, epsilon, one.measure, seeds)
    if found:
        solvers = sorted({fit["solver"] for fit in found})
        row |= {"solver": "/".join(solvers)}
        for name in ("nonzeros", ERROR, RECALIBRATED):
            values = [fit[name] for fit in found if name in fit]
            row |= {name: statistics.fmean(values)} if values else {}
    elif DEFAULT in cells:
        known_before = ("solver", "nonzeros", ERROR, RECALIBRATED)
        row |= {name: before.own[name] for name in known_before if name in before.own}
    row |= comparison(one, cells, one.measure)
    row["of log-loss"] = comparison(one, losses, LOG_LOSS)
    if row["goal"] is not None and DEFAULT in cells:
        row["goal_met"] = cells[DEFAULT]["mean"] >= row["goal"]
    return row


def _cells(
    memory: Memory, one: Set, epsilon: float, measure: str, seeds: int, before: dict[str, Any]
) -> dict[str, Any]:
    cells = {}
    for method in METHODS:
        values = known(memory, one.name, method, epsilon, measure, seeds)
        kind = "rivals" if method in RIVALS else "ours"
        if values:
            cells[method] = {**interval(values), "values": [round(value, 5) for value in values]}
            settings = memory.picked(one.plain or one.name, method, epsilon, measure)
            cells[method] |= {"settings": settings} if settings else {}
            cells[method] |= memory.facts(kind) or {}
        elif method in before:
            cells[method] = before[method]
    return cells


def comparison(one: Set, cells: dict[str, dict], measure: str) -> dict[str, Any]:
    """The best rival, and how much better the default is."""
    found: dict[str, Any] = {}
    rivals = [method for method in RIVALS if method in cells and is_sound(method, one)]
    if rivals:
        best = max(rivals, key=lambda method: sign(measure) * cells[method]["mean"])
        found["best_rival"] = best
    if rivals and DEFAULT in cells:
        mine, theirs = cells[DEFAULT], cells[best]
        difference = sign(measure) * (mine["mean"] - theirs["mean"])
        found |= {"difference": difference, "verdict": verdict(difference)}
        found["difference_half"] = _half(one, mine, theirs)
    return found


def verdict(difference: float) -> str:
    if difference >= 0.0:
        return "ahead"
    return "within .01" if difference >= -CLOSE else "behind"


def _half(one: Set, mine: dict[str, Any], theirs: dict[str, Any]) -> float:
    """Half the 95 % interval of a mean difference: seed by seed where a seed is a split."""
    mine_values, their_values = mine.get("values", []), theirs.get("values", [])
    if one.kind == "table" and len(mine_values) == len(their_values) > 1:
        pairs = zip(mine_values, their_values, strict=True)
        return float(interval([a - b for a, b in pairs])["half"])
    return math.hypot(mine["half"], theirs["half"])


def text(rows: list[dict[str, Any]]) -> str:
    """Three tables: success, probabilities, and other settings of ours."""
    others = [method for method in OURS if method not in (DEFAULT, FRANK_WOLFE)]
    parts = [_success(rows), _probabilities([row for row in rows if DEFAULT in row[LOG_LOSS]])]
    if any(method in row["cells"] for method in others for row in rows):
        parts.append(_others(rows, others))
    return "\n\n".join(parts)


def _success(rows: list[dict[str, Any]]) -> str:
    head = [
        "set",
        "measure",
        "eps",
        *REFERENCES,
        "solver",
        "nonzeros",
        "default",
        "+-",
        FRANK_WOLFE,
    ]
    head += ["best rival", "", "difference", "", "goal", "", *RIVALS]
    lines = [head]
    for row in rows:
        cells, best = row["cells"], row.get("best_rival")
        lines.append(
            [
                row["set"],
                row["measure"],
                f"{row['epsilon']:g}",
                *(_mean(cells.get(method)) for method in REFERENCES),
                row.get("solver", "-"),
                f"{row['nonzeros']:.0f}" if "nonzeros" in row else "-",
                _mean(cells.get(DEFAULT)),
                f"{cells[DEFAULT]['half']:.3f}" if DEFAULT in cells else "-",
                _mean(cells.get(FRANK_WOLFE)),
                best or "-",
                _mean(cells.get(best)),
                f"{row['difference']:+.3f} +-{row['difference_half']:.3f}"
                if "difference" in row
                else "-",
                row.get("verdict", ""),
                _goal(row),
                {True: "met", False: "missed"}.get(row.get("goal_met"), ""),  # type: ignore[arg-type]
                *(_rival(row, method) for method in RIVALS),
            ]
        )
    return aligned(lines, left={0, 1, 5, 10, 13, 15})


def _probabilities(rows: list[dict[str, Any]]) -> str:
    head = ["set", "eps", "log-loss: constant", NOT_PRIVATE, "default", "+-", "recalibrated"]
    lines = [[*head, "excess", "calibration error", FRANK_WOLFE, "best rival", ""]]
    for row in rows:
        cells, best = row[LOG_LOSS], row["of log-loss"].get("best_rival")
        mine = cells.get(DEFAULT)
        lines.append(
            [
                row["set"],
                f"{row['epsilon']:g}",
                *(_mean(cells.get(method)) for method in REFERENCES),
                _mean(mine),
                f"{mine['half']:.3f}" if mine else "-",
                f"{row[RECALIBRATED]:.3f}" if RECALIBRATED in row else "-",
                f"{excess(row):+.3f}" if RECALIBRATED in row else "-",
                f"{row[ERROR]:.3f}" if ERROR in row else "-",
                _mean(cells.get(FRANK_WOLFE)),
                best or "-",
                _mean(cells.get(best)),
            ]
        )
    return aligned(lines, left={0, 10})


def excess(row: dict[str, Any]) -> float:
    """Log-loss of the default less that of its best recalibration."""
    return float(row[LOG_LOSS][DEFAULT]["mean"] - row[RECALIBRATED])


def _others(rows: list[dict[str, Any]], methods: list[str]) -> str:
    lines = [["set", "measure", "eps", DEFAULT, *methods]]
    for row in rows:
        if any(method in row["cells"] for method in methods):
            figures = (
                "no cut" if kept(method) >= row["columns"] else _spread(row["cells"].get(method))
                for method in (DEFAULT, *methods)
            )
            lines.append([row["set"], row["measure"], f"{row['epsilon']:g}", *figures])
    return aligned(lines, left={0, 1})


def aligned(lines: list[list[str]], left: set[int]) -> str:
    """Lines of cells as text; the columns at these places are aligned to the left."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place in left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _mean(cell: dict | None) -> str:
    return "-" if cell is None else f"{cell['mean']:.3f}"


def _spread(cell: dict | None) -> str:
    return "-" if cell is None else f"{cell['mean']:.3f} +-{cell['half']:.3f}"


def _rival(row: dict[str, Any], method: str) -> str:
    if method not in row["cells"] and method == "diffprivlib":
        return "dense only" if row.get("columns", 0) > MOST_COLUMNS else "-"
    said = _spread(row["cells"].get(method))
    sound = is_sound(method, SETS[row["set"]]) or method not in row["cells"]
    return said if sound else f"wrong sensitivity {said}"


def _goal(row: dict[str, Any]) -> str:
    said = "-" if row["goal"] is None else f"{row['goal']:.3f}"
    return said if row["published"] is None else f"{said} (published {row['published']:.3f})"
