"""What the pages say of federations, from saved results."""

from harness.results import saved


def moments() -> str:
    """Accuracy of secret-shared moments, with stars where it is close to one place."""
    rows = saved("federated_moments")["rows"]
    epsilons = list(dict.fromkeys(row["epsilon"] for row in rows))
    heads = [f"ε = {epsilons[0]:g}", *(f"{one:g}" for one in epsilons[1:])]
    lines = [f"| set | parties | {' | '.join(heads)} |", "|---" * (2 + len(heads)) + "|"]
    of_set: dict[str, dict[int, list[dict]]] = {}
    for row in rows:
        of_set.setdefault(row["set"], {}).setdefault(row["parties"], []).append(row)
    for name, by_parties in of_set.items():
        title = {"california": "california (R²)", "letter": "letter, 26 classes"}.get(name, name)
        first = next(iter(by_parties.values()))
        alone = " | ".join(f"{row['centralised']['mean']:.3f}" for row in first)
        lines.append(f"| {title} | one place | {alone} |")
        for parties, found in by_parties.items():
            cells = [_beside_one_place(row) for row in found]
            lines.append(f"| | {parties} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _beside_one_place(row: dict) -> str:
    central, one, most = (row[way]["mean"] for way in ("centralised", "one", "all_but_one"))
    return f"{one:.3f}{'*' if central - one <= 0.015 else ''} ({most:.3f})"
