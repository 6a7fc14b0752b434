"""Planted bugs against the complete quick audit, and the correct code beside them.

    python benchmarks/planted_bugs.py [--seeds 10] [--first 0]

Every bug of tests/planted.py is planted in the product, one at a time, and the audit that `dplasso
audit` makes is run with each seed. The table says in how many audits there was an alarm and which
checks raised it. It is written anew to benchmarks/results/planted_bugs.txt after every seed.
"""

import argparse
import sys
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from dplasso import __version__, audit  # noqa: E402
from planted import BUGS  # noqa: E402  (the tests plant the same)

RESULTS = Path(__file__).resolve().parent / "results" / "planted_bugs.txt"
CORRECT = "none: the code as it is"
PATIENCE = 1e4  # seconds: a busy machine must not make fewer runs


@contextmanager
def planted(name):
    with pytest.MonkeyPatch.context() as monkeypatch:
        if name != CORRECT:
            BUGS[name].plant(monkeypatch)
        yield


def table(audits, alarms, found, seconds):
    names = [CORRECT, *BUGS]
    width = max(map(len, names))
    lines = [
        f"Complete quick audits of dplasso {__version__} with a bug planted: "
        "audits that alarmed, and the checks that did",
        f"{'bug':<{width}}  {'audits':>6}  {'alarms':>6}  {'CPU s':>6}  found by",
    ]
    for name in names:
        by = ", ".join(f"{check} {count}" for check, count in found[name].most_common()) or "-"
        mean = seconds[name] / max(audits[name], 1)
        counts = f"{audits[name]:>6}  {alarms[name]:>6}  {mean:>6.1f}"
        lines.append(f"{name:<{width}}  {counts}  {by}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    chosen = parser.parse_args()
    audits, alarms, seconds = Counter(), Counter(), Counter()
    found = {name: Counter() for name in (CORRECT, *BUGS)}
    for seed in range(chosen.first, chosen.first + chosen.seeds):
        for name in (CORRECT, *BUGS):
            start = time.process_time()
            with planted(name):
                report = audit.run(seed=seed, seconds=PATIENCE)
            seconds[name] += time.process_time() - start
            audits[name] += 1
            alarms[name] += not report.passed
            found[name].update({verdict.check for verdict in report.alarms})
        text = table(audits, alarms, found, seconds)
        RESULTS.write_text(text + "\n")
        print(text, end="\n\n", flush=True)


if __name__ == "__main__":
    main()
