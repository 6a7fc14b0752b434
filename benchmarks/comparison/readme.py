"""The table as the pages of results have it, and one line of it for the README."""

import math
from collections.abc import Sequence
from typing import Any

from comparison.front import SHOWN
from comparison.ours import DEFAULT, FRANK_WOLFE
from comparison.references import NOT_PRIVATE, TRIVIAL
from comparison.sets import SETS


def accuracy(found: dict[str, Any]) -> str:
    """One table for all sets that have the same epsilons: the default, and the best rival."""
    rows = {(row["set"], row["epsilon"]): row for row in found["rows"] if DEFAULT in row["cells"]}
    groups: dict[tuple[float, ...], list[str]] = {}
    for name in dict.fromkeys(name for name, _ in rows):
        groups.setdefault(tuple(e for n, e in rows if n == name), []).append(name)
    parts = []
    for epsilons, names in groups.items():
        head = ["set", "rows x columns", "trivial", *(f"epsilon {e:g}" for e in epsilons)]
        head += ["non-private", "solver", "nonzeros", "Frank-Wolfe"]
        lines = [_joined(head), _joined(["---"] * len(head))]
        lines += [_line([rows[name, epsilon] for epsilon in epsilons]) for name in names]
        parts.append("\n".join(lines))
    said = [line for line in found["summary"].splitlines() if "tuned rival" in line]
    closing = [f"- {line[0].upper()}{line[1:]}." for line in said]
    return "\n\n".join([*parts, "\n".join(closing)])


def accuracy_line(found: dict[str, Any]) -> str:
    """What the README says of accuracy: where the default is ahead, and where furthest behind."""
    plain = [row for row in found["rows"] if SETS[row["set"]].plain is None]
    judged = [row for row in plain if "verdict" in row]
    ahead = sum(row["verdict"] == "ahead" for row in judged)
    widest = max(judged, key=lambda row: (row["columns"], -abs(math.log(row["epsilon"]))))
    worst = min(judged, key=lambda row: row["difference"])
    return (
        f"**Accuracy.** Without tuning, the default is ahead of the best tuned rival in {ahead} of "
        f"{len(judged)} combinations of data set and epsilon. On {widest['set']} with "
        f"{widest['columns']:,} columns it reaches {_mean(widest, DEFAULT)} at epsilon "
        f"{widest['epsilon']:g}, and the best rival {_mean(widest, widest['best_rival'])}. It is "
        f"furthest behind on {worst['set']} at epsilon {worst['epsilon']:g}, with "
        f"{_mean(worst, DEFAULT)} against {_mean(worst, worst['best_rival'])}. The plot shows "
        f"{' and '.join(SHOWN)} ([accuracy](docs/results/accuracy.md))."
    )


def by_epsilon(found: dict[str, Any], names: Sequence[str]) -> str:
    """The default on some data sets that have the same epsilons, a line per set."""
    rows = {(row["set"], row["epsilon"]): _mean(row, DEFAULT) for row in found["rows"]}
    epsilons = [epsilon for name, epsilon in rows if name == names[0]]
    lines = [["set", *(f"ε = {epsilon:g}" for epsilon in epsilons)], ["---"] * (1 + len(epsilons))]
    lines += [[name, *(rows[name, epsilon] for epsilon in epsilons)] for name in names]
    return "\n".join(map(_joined, lines))


def fits(found: dict[str, Any]) -> str:
    """How many fits a figure of the default is the mean of."""
    (seeds,) = {row["cells"][DEFAULT]["seeds"] for row in found["rows"] if DEFAULT in row["cells"]}
    return str(seeds)


def _line(rows: list[dict[str, Any]]) -> str:
    """A set: solver, nonzeros and Frank-Wolfe at the epsilon that is nearest to 1."""
    first, middle = rows[0], min(rows, key=lambda row: abs(math.log(row["epsilon"])))
    measure = "" if first["measure"] == "accuracy" else f" ({first['measure']})"
    return _joined(
        [
            first["set"] + measure,
            f"{first['rows']:,} x {first['columns']:,}",
            _mean(first, TRIVIAL),
            *map(_against_rivals, rows),
            _mean(first, NOT_PRIVATE),
            middle["solver"],
            f"{middle['nonzeros']:,.0f}",
            _mean(middle, FRANK_WOLFE),
        ]
    )


def _joined(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _against_rivals(row: dict[str, Any]) -> str:
    rival = row.get("best_rival")
    return f"{_mean(row, DEFAULT)} ({_mean(row, rival)})" if rival else _mean(row, DEFAULT)


def _mean(row: dict[str, Any], method: str) -> str:
    cell = row["cells"].get(method)
    return "-" if cell is None else f"{cell['mean']:z.3f}"
