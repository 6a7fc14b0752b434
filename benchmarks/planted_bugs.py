"""Planted bugs against the audit, and complete audits of the correct code.

    python benchmarks/planted_bugs.py [--seeds 10] [--first 0] [--bugs NAME ...] [--jobs 2]
    python benchmarks/planted_bugs.py --correct 20 [--jobs 2]

Every bug of tests/helpers/planted is planted in the product, one at a time, for each seed. First
the checks that are expected to find it are made, of the estimator that it is planted for. Only
where none of them alarms is the complete quick audit made, as `dplasso audit` makes it. The table
says how many seeds ended in an alarm and which checks raised it. With ``--correct`` nothing is
planted, and complete quick audits are made, which should not alarm. Tables go to
benchmarks/results, unless only some bugs are named.
"""

import argparse
import statistics
import time
from collections import Counter, defaultdict
from concurrent.futures import as_completed
from typing import NamedTuple

import pytest
from harness import ROOT
from harness.machine import machine
from harness.pool import one_core_each

from dplasso import __version__, audit
from planted import BUGS  # the tests plant the same

RESULTS = ROOT / "benchmarks" / "results"
CORRECT = "none: the code as it is"


class Found(NamedTuple):
    """One seed: which checks alarmed, whether a complete audit was needed, and its CPU seconds."""

    name: str
    alarms: tuple[str, ...]
    complete: bool
    seconds: float
    wall: float


def audited(name: str, seed: int) -> Found:
    """Plant a bug, or none, and audit."""
    cpu, wall = time.process_time(), time.monotonic()
    with pytest.MonkeyPatch.context() as monkeypatch:
        alarms, complete = (), name == CORRECT
        if not complete:
            bug = BUGS[name]
            bug.plant(monkeypatch)
            report = audit.run(bug.estimator(), checks=list(bug.found_by), seed=seed)
            alarms, complete = _checks(report), report.passed
        if complete:
            alarms = _checks(audit.run(seed=seed))
    return Found(name, alarms, complete, time.process_time() - cpu, time.monotonic() - wall)


def _checks(report: audit.AuditReport) -> tuple[str, ...]:
    return tuple(dict.fromkeys(verdict.check for verdict in report.alarms))


def all_found(names: list[str], seeds: range, jobs: int):
    """What is found, as it is found. Seeds are the outer loop: every bug is tried once first."""
    tasks = [(name, seed) for seed in seeds for name in names]
    if jobs == 1:
        yield from (audited(*task) for task in tasks)
        return
    with one_core_each(jobs) as pool:
        for done in as_completed([pool.submit(audited, *task) for task in tasks]):
            yield done.result()


def table(found: dict[str, list[Found]]) -> str:
    width = max(map(len, found))
    lines = [
        f"dplasso {__version__}: seeds with which the quick audit alarms where a bug is planted.",
        "Made are the checks expected to find it, of the estimator it is planted for, and the",
        "complete audit for the seeds (of those in brackets) with which none of them alarms.",
        f"{'bug':<{width}}  {'seeds':>5}  {'alarms':>8}  {'CPU s':>6}  found by",
    ]
    for name, runs in found.items():
        by = Counter(check for run in runs for check in run.alarms)
        checks = ", ".join(f"{check} {count}" for check, count in by.most_common()) or "-"
        alarms = str(sum(bool(run.alarms) for run in runs))
        if complete := sum(run.complete for run in runs):
            alarms += f" ({complete})"
        mean = sum(run.seconds for run in runs) / len(runs)
        lines.append(f"{name:<{width}}  {len(runs):>5}  {alarms:>8}  {mean:>6.1f}  {checks}")
    missed = [
        name
        for name, runs in found.items()
        if sum(bool(run.alarms) for run in runs) < 0.9 * len(runs)
    ]
    lines.append(f"\n{len(found)} bugs; found in fewer than 9 of 10 seeds: {missed or 'none'}")
    lines.append(machine())
    return "\n".join(lines)


def table_of_correct(runs: list[Found]) -> str:
    alarmed = [run.alarms for run in runs if run.alarms]
    cpu, wall = ([getattr(run, name) for run in runs] for name in ("seconds", "wall"))
    return (
        f"dplasso {__version__}: complete quick audits of the code as it is.\n"
        f"audits {len(runs)}, with an alarm {len(alarmed)} {alarmed or ''}\n"
        f"CPU seconds of one: {_spread(cpu)}; on the clock {_spread(wall)}. The first audit may\n"
        f"compile loops, which later ones read from a file. {machine()}"
    )


def _spread(seconds: list[float]) -> str:
    return f"{min(seconds):.0f} to {max(seconds):.0f}, median {statistics.median(seconds):.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--bugs", nargs="+", choices=BUGS, metavar="NAME")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--correct", type=int, metavar="AUDITS")
    chosen = parser.parse_args()
    if chosen.correct:
        runs = list(
            all_found([CORRECT], range(chosen.first, chosen.first + chosen.correct), chosen.jobs)
        )
        text, target = table_of_correct(runs), RESULTS / "correct_audits.txt"
        target.write_text(text + "\n")
        print(text)
        return
    names, found = chosen.bugs or list(BUGS), defaultdict(list)
    for run in all_found(names, range(chosen.first, chosen.first + chosen.seeds), chosen.jobs):
        found[run.name].append(run)
        print(
            f"{run.name}: {', '.join(run.alarms) or 'NO ALARM'} ({run.seconds:.1f} s)", flush=True
        )
        text = table({name: found[name] for name in names if found[name]})
        if chosen.bugs is None:
            (RESULTS / "planted_bugs.txt").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
