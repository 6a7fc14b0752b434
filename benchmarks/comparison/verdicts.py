"""What the study was made to show, computed from the rows of its table."""

from collections.abc import Iterable
from typing import Any

from harness.measures import ERROR, LOG_LOSS, RECALIBRATED

from comparison.ours import DEFAULT
from comparison.references import TRIVIAL
from comparison.sets import SETS
from comparison.table import excess

AHEAD = 2 / 3  # of the cells, in which the default should be ahead of every tuned rival
FALL = 0.002  # of success as epsilon grows, below which it counts as noise
MOST_EXCESS = 0.02  # of log-loss over that of the best recalibration
MOST_ERROR, MOST_ERROR_OF_MANY = 0.03, 0.06  # expected calibration error: few and many classes
MANY_CLASSES, ENOUGH_ROWS = 10, 5000


def summary(rows: list[dict[str, Any]]) -> str:
    """One line per question."""
    tables = [row for row in rows if row["kind"] == "table"]
    plain = [row for row in rows if SETS[row["set"]].plain is None]
    lines = [
        against_rivals("tables, success", [row for row in tables if row in plain]),
        against_rivals("tables, log-loss", [_of_log_loss(row) for row in tables if row in plain]),
        against_rivals("other sets, success", [row for row in plain if row["kind"] != "table"]),
        against_rivals("all sets, success", plain),
        goals(rows),
        mixed(rows),
        falls(rows),
        *probabilities([row for row in rows if RECALIBRATED in row]),
    ]
    return "\n".join(line for line in lines if line)


def against_rivals(what: str, rows: list[dict[str, Any]]) -> str:
    """In how many cells the default is ahead of the best rival, and in which it is well behind."""
    judged = [row for row in rows if "verdict" in row]
    if not judged:
        return ""
    ahead = sum(row["verdict"] == "ahead" for row in judged)
    enough = "two thirds or more" if ahead >= AHEAD * len(judged) else "LESS THAN TWO THIRDS"
    behind = _cells(
        (row, f"{row['difference']:+.3f}") for row in judged if row["verdict"] == "behind"
    )
    return (
        f"{what}: the default is ahead of every tuned rival in {ahead} of {len(judged)} cells "
        f"({enough}); more than .01 behind: {behind or 'never'}"
    )


def goals(rows: list[dict[str, Any]]) -> str:
    judged = [row for row in rows if "goal_met" in row]
    if not judged:
        return ""
    missed = _cells(
        (row, f"{row['cells'][DEFAULT]['mean']:.3f} for {row['goal']:.3f}")
        for row in judged
        if not row["goal_met"]
    )
    met = sum(row["goal_met"] for row in judged)
    return f"{met} of {len(judged)} goals are met" + (f"; missed: {missed}" if missed else "")


def mixed(rows: list[dict[str, Any]]) -> str:
    """Tables with hashed columns, less the same tables without."""
    found = {(row["set"], row["epsilon"]): row["cells"].get(DEFAULT) for row in rows}
    said = []
    for (name, epsilon), cell in found.items():
        plain = found.get((SETS[name].plain or "", epsilon))
        if cell and plain:
            said.append(f"{name} at {epsilon:g} {cell['mean'] - plain['mean']:+.3f}")
    return f"hashed columns beside numbers, less the plain table: {', '.join(said)}" if said else ""


def falls(rows: list[dict[str, Any]]) -> str:
    """Where success falls as epsilon grows."""
    pairs = [
        (later, later["cells"][DEFAULT]["mean"] - earlier["cells"][DEFAULT]["mean"])
        for earlier, later in zip(rows, rows[1:], strict=False)
        if earlier["set"] == later["set"] and DEFAULT in earlier["cells"]
        if DEFAULT in later["cells"]
    ]
    said = _cells((row, f"{change:+.3f}") for row, change in pairs if change < -FALL)
    return f"success falls as epsilon grows, by more than {FALL:g}: {said or 'never'}"


def probabilities(rows: list[dict[str, Any]]) -> list[str]:
    """Log-loss against the best recalibration and the constant, and the calibration error."""
    if not rows:
        return []
    far = _cells((row, f"{excess(row):+.3f}") for row in rows if excess(row) > MOST_EXCESS)
    constant = _cells(
        (row, f"{_loss(row, DEFAULT):.3f} for {_loss(row, TRIVIAL):.3f}")
        for row in rows
        if TRIVIAL in row[LOG_LOSS]
        if row["cells"][DEFAULT]["mean"] > row["cells"][TRIVIAL]["mean"]
        if _loss(row, DEFAULT) > _loss(row, TRIVIAL)
    )
    wrong = _cells(
        (row, f"{row[ERROR]:.3f}")
        for row in rows
        if row["epsilon"] == 1.0 and row["rows"] >= ENOUGH_ROWS
        if row[ERROR] > (MOST_ERROR_OF_MANY if row["classes"] >= MANY_CLASSES else MOST_ERROR)
    )
    return [
        f"log-loss more than {MOST_EXCESS:g} above the best recalibration: {far or 'never'}",
        f"log-loss above the constant's where success is not: {constant or 'never'}",
        f"calibration error at epsilon 1 above {MOST_ERROR:g}, or {MOST_ERROR_OF_MANY:g} from "
        f"{MANY_CLASSES} classes on: {wrong or 'never'}",
    ]


def _of_log_loss(row: dict[str, Any]) -> dict[str, Any]:
    return {"set": row["set"], "epsilon": row["epsilon"], **row["of log-loss"]}


def _loss(row: dict[str, Any], method: str) -> float:
    return float(row[LOG_LOSS][method]["mean"])


def _cells(found: Iterable[tuple[dict[str, Any], str]]) -> str:
    return ", ".join(f"{row['set']} at {row['epsilon']:g} ({said})" for row, said in found)
