"""Put the saved results into the README, between its markers.

python benchmarks/tables.py
"""

import re

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


def accuracy() -> str:
    found = saved("accuracy")
    rows = {(row["set"], row["epsilon"]): row for row in found["rows"]}
    lines = [
        "| set | rows x columns | epsilon 0.1 | epsilon 1 | epsilon 8 "
        "| at most 1,000, 100, 30 nonzeros, epsilon 1 | Frank-Wolfe, epsilon 1 |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(row["set"] for row in found["rows"]):
        three = [rows[name, epsilon] for epsilon in (0.1, 1.0, 8.0)]
        label = f"{name} (AUC)" if three[0]["measure"] == "AUC" else name
        few = ", ".join(_mean(three[1], f"ours-{k}") for k in (1000, 100, 30))
        lines.append(
            f"| {label} | {three[0]['rows']:,} x {three[0]['columns']:,} "
            f"| {' | '.join(map(_against_rivals, three))} | {few} | {_mean(three[1], 'FW')} |"
        )
    return "\n".join([*lines, "", f"{found['summary'].capitalize()}. {found['machine']}."])


def _against_rivals(row: dict) -> str:
    rival = row["best_rival"]
    return f"{_mean(row, 'ours')} ({_mean(row, rival)})" if rival else _mean(row, "ours")


def _mean(row: dict, column: str) -> str:
    cell = row["cells"].get(column)
    return "-" if cell is None else f"{cell['mean']:.3f}"


def newsgroups() -> str:
    found = saved("newsgroups")
    lines = ["| epsilon | accuracy | nonzeros | rounds | seconds |", "|---|---|---|---|---|"]
    for row in found["rows"]:
        rounds = row["rounds"] if row["epsilon"] != "inf" else "to the optimum"
        lines.append(
            f"| {row['epsilon']} | {row['accuracy']:.3f} | {row['nonzeros']:.0f} | {rounds} "
            f"| {row['seconds']:.1f} |"
        )
    return "\n".join([f"{found['machine']}.", "", *lines])


def main() -> None:
    readme = ROOT / "README.md"
    text = readme.read_text()
    for name, table in (("speed", selection), ("accuracy", accuracy), ("newsgroups", newsgroups)):
        pattern = f"<!-- {name} -->.*?<!-- /{name} -->"
        assert re.search(pattern, text, re.DOTALL), f"README has no marker for {name}"
        block = f"<!-- {name} -->\n{table()}\n<!-- /{name} -->"
        text = re.sub(pattern, lambda _, block=block: block, text, flags=re.DOTALL)
    readme.write_text(text)


if __name__ == "__main__":
    main()
