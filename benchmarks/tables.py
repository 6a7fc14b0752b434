"""Put the saved results into the README, between its markers.

python benchmarks/tables.py
"""

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"


def seconds(value: float) -> str:
    if value >= 1:
        return f"{value:,.1f} s" if value < 100 else f"{value:,.0f} s"
    return f"{1e3 * value:.1f} ms"


def times(value: float) -> str:
    return f"{value:,.0f}x" if value >= 10 else f"{value:.1f}x"


def selection() -> str:
    saved = json.loads((RESULTS / "selection.json").read_text())
    lines = [
        "| data | epsilon | lazy | set-up in it | noisy_max | big_step_little_step "
        "| rounds / replay |",
        "|---|---|---|---|---|---|---|",
    ]
    rows = {(row["set"], row["epsilon"], row["rule"]): row for row in saved["rows"]}
    for (name, epsilon, rule), row in rows.items():
        if rule != "lazy":
            continue
        rivals = [rows[name, epsilon, rival] for rival in ("noisy_max", "big_step_little_step")]
        cells = [f"{seconds(r['total'])} ({times(r['total'] / row['total'])})" for r in rivals]
        shape = f"{name} {row['rows']:,} x {row['columns']:,}"
        lines.append(
            f"| {shape} | {epsilon:g} | {seconds(row['total'])} | {seconds(row['setup'])} "
            f"| {' | '.join(cells)} | {row['rounds_over_replay']:.1f} |"
        )
    head = (
        f"{saved['rounds']:,} rounds, radius {saved['radius']:g}, delta {saved['delta']:g}, "
        f"logistic loss; wall-clock medians over seeds, from the held matrix to the weights; "
        f"{saved['machine']}."
    )
    return "\n".join([head, "", *lines])


def utility() -> str:
    saved = json.loads((RESULTS / "utility.json").read_text())
    lines = [
        "| set | rows x columns | majority | epsilon 0.1 | epsilon 1 | epsilon 8 |",
        "|---|---|---|---|---|---|",
    ]
    rows = {(row["set"], row["epsilon"]): row for row in saved["rows"]}
    for name in dict.fromkeys(row["set"] for row in saved["rows"]):
        cells = [rows[name, epsilon] for epsilon in (0.1, 1.0, 8.0)]
        label = f"{name} (AUC)" if cells[0]["measure"] == "AUC" else name
        values = [f"{row['rule']:.3f} ({row['grid']:.3f})" for row in cells]
        shape = f"{cells[0]['rows']:,} x {cells[0]['columns']:,}"
        lines.append(f"| {label} | {shape} | {cells[0]['majority']:.3f} | {' | '.join(values)} |")
    head = (
        'Test accuracy with `radius` and `max_iter` left at "auto", means over '
        f"{saved['seeds']} fits; in brackets the best of a grid of both, picked on the test rows "
        "at no charge, which no user can have."
    )
    return "\n".join([head, "", *lines])


def newsgroups() -> str:
    saved = json.loads((RESULTS / "newsgroups.json").read_text())
    lines = ["| epsilon | accuracy | nonzeros | rounds | seconds |", "|---|---|---|---|---|"]
    for row in saved["rows"]:
        rounds = row["rounds"] if row["epsilon"] != "inf" else "to the optimum"
        lines.append(
            f"| {row['epsilon']} | {row['accuracy']:.3f} | {row['nonzeros']:.0f} | {rounds} "
            f"| {row['seconds']:.1f} |"
        )
    return "\n".join([f"{saved['machine']}.", "", *lines])


def main() -> None:
    readme = ROOT / "README.md"
    text = readme.read_text()
    for name, table in (("speed", selection), ("utility", utility), ("newsgroups", newsgroups)):
        pattern = f"<!-- {name} -->.*?<!-- /{name} -->"
        assert re.search(pattern, text, re.DOTALL), f"README has no marker for {name}"
        block = f"<!-- {name} -->\n{table()}\n<!-- /{name} -->"
        text = re.sub(pattern, lambda _, block=block: block, text, flags=re.DOTALL)
    readme.write_text(text)


if __name__ == "__main__":
    main()
