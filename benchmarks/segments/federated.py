"""What the pages say of federations, from saved results."""

from collections.abc import Callable
from typing import Any

from harness.results import saved

Row = dict[str, Any]
TITLES = {"california": "california (R²)", "letter": "letter, 26 classes"}


def moments() -> str:
    """Accuracy of secret-shared moments, with stars where it is close to one place."""
    return _beside_one_place("federated_moments", _moment)


def sketches() -> str:
    """Accuracy of sketches, with stars where it is close to one place."""
    return _beside_one_place("federated_accuracy", _sketch)


def _beside_one_place(name: str, cell: Callable[[Row], str]) -> str:
    """A line per set and number of parties, a column per epsilon; one place comes first."""
    rows = saved(name)["rows"]
    epsilons = list(dict.fromkeys(row["epsilon"] for row in rows))
    heads = [f"ε = {epsilons[0]:g}", *(f"{one:g}" for one in epsilons[1:])]
    lines = [f"| set | parties | {' | '.join(heads)} |", "|---" * (2 + len(heads)) + "|"]
    of_set: dict[str, dict[int, list[Row]]] = {}
    for row in rows:
        of_set.setdefault(row["set"], {}).setdefault(row["parties"], []).append(row)
    for name, by_parties in of_set.items():
        first = next(iter(by_parties.values()))
        alone = " | ".join(f"{row['centralised']['mean']:.3f}" for row in first)
        lines.append(f"| {_title(name, first[0])} | one place | {alone} |")
        for parties, found in by_parties.items():
            lines.append(f"| | {parties} | {' | '.join(map(cell, found))} |")
    return "\n".join(lines)


def _title(name: str, row: Row) -> str:
    if "majority" in row:
        return f"{name} (larger class {row['majority']:.3f})"
    return TITLES.get(name, name)


def _moment(row: Row) -> str:
    central, one, most = (row[way]["mean"] for way in ("centralised", "one", "all_but_one"))
    return f"{one:.3f}{'*' if central - one <= 0.015 else ''} ({most:.3f})"


def _sketch(row: Row) -> str:
    central, shared = (row[way]["mean"] for way in ("centralised", "federated"))
    return f"{shared:.3f}{'*' if central - shared <= 0.02 else ''}"
