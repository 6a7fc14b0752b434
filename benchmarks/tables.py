"""Put the saved results into the README, between its markers.

python benchmarks/tables.py
"""

import re

from comparison.readme import accuracy
from harness import ROOT
from harness.results import saved


def seconds(value: float) -> str:
    if value >= 1:
        return f"{value:,.1f} s" if value < 100 else f"{value:,.0f} s"
    return f"{1e3 * value:.1f} ms"


def times(value: float) -> str:
    return f"{value:,.0f}x" if value >= 10 else f"{value:.1f}x"


def selection() -> str:
    found = saved("selection")
    lines = [
        "| data | epsilon | lazy | set-up in it | noisy_max | big_step_little_step "
        "| rounds / replay |",
        "|---|---|---|---|---|---|---|",
    ]
    rows = {(row["set"], row["epsilon"], row["rule"]): row for row in found["rows"]}
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
        f"{found['rounds']:,} rounds, radius {found['radius']:g}, delta {found['delta']:g}, "
        f"logistic loss; wall-clock medians over seeds, from the held matrix to the weights; "
        f"{found['machine']}."
    )
    return "\n".join([head, "", *lines])


def main() -> None:
    readme = ROOT / "README.md"
    text = readme.read_text()
    for name, table in (("speed", selection), ("accuracy", lambda: accuracy(saved("accuracy")))):
        pattern = f"<!-- {name} -->.*?<!-- /{name} -->"
        assert re.search(pattern, text, re.DOTALL), f"README has no marker for {name}"
        block = f"<!-- {name} -->\n{table()}\n<!-- /{name} -->"
        text = re.sub(pattern, lambda _, block=block: block, text, flags=re.DOTALL)
    readme.write_text(text)


if __name__ == "__main__":
    main()
