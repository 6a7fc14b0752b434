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


def main() -> None:
    readme = ROOT / "README.md"
    text = readme.read_text()
    pattern = "<!-- speed -->.*?<!-- /speed -->"
    assert re.search(pattern, text, re.DOTALL), "README has no marker for the table"
    block = f"<!-- speed -->\n{selection()}\n<!-- /speed -->"
    readme.write_text(re.sub(pattern, lambda _: block, text, flags=re.DOTALL))


if __name__ == "__main__":
    main()
