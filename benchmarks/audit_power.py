"""The smallest fault that each check of a quick audit finds with probability 0.9.

    python benchmarks/audit_power.py [--jobs 2] [--checks NAME ...] [--solvers NAME ...]

Faults of graded size (tests/helpers/planted/by_degree.py) are planted in the product. Only the
check concerned is made, of one estimator, with the limits that it has in a complete quick audit. A
bisection over the sizes finds the smallest with which at least 9 of 10 seeds alarm. The table is
benchmarks/results/audit_power.txt, and the same is in docs/explanation/audit.md. A run of
some checks renews their rows alone.
"""

import re
import time
from collections.abc import Mapping
from concurrent.futures import as_completed

import pytest
from harness import ROOT
from harness.options import parser
from harness.pool import one_core_each

from dplasso import __version__, audit
from dplasso.audit import runner
from dplasso.audit.registry import SUBJECTS
from planted.by_degree import FAULTS, Fault

RESULTS = ROOT / "benchmarks" / "results" / "audit_power.txt"
SEEDS, NEEDED = 10, 9
UNKNOWN = "not measured"
_ROW = "{:<14}  {:<11}  {:<36}  {}"

Key = tuple[str, str, str]


def key_of(fault: Fault) -> Key:
    return fault.check, fault.solver, fault.what


def is_found(fault: Fault, size: float) -> bool:
    """Whether enough seeds alarm; no more are tried than it takes to know."""
    alarms = 0
    for seed in range(SEEDS):
        with pytest.MonkeyPatch.context() as monkeypatch:
            # The share of the chance of a false alarm that a test has in a complete audit.
            monkeypatch.setattr(runner, "FALSE_ALARM", _chance(fault))
            fault.plant(size)(monkeypatch)
            alarms += not audit.run(_estimator(fault), checks=[fault.check], seed=seed).passed
        if alarms == NEEDED or seed + 1 - alarms > SEEDS - NEEDED:
            break
    return alarms >= NEEDED


def _estimator(fault: Fault):
    return audit.example_estimators(fault.solver, **fault.options)[0]


def _chance(fault: Fault) -> float:
    """So that the single check has the limits of the complete quick audit."""
    alone = _tests(_estimator(fault), [fault.check])
    return 1e-4 * max(alone, 1) / _tests(None, None)


def _tests(estimator, checks) -> int:
    subjects = runner.subjects_of(estimator, "quick")
    return sum(job.tests for job in runner.jobs_of(subjects, checks))


def smallest(fault: Fault) -> tuple[Key, str, float]:
    """The smallest size that is found, in words, and the CPU seconds that it took to find it."""
    start, low, high = time.process_time(), 0, len(fault.sizes)
    while low < high:
        middle = (low + high) // 2
        if is_found(fault, fault.sizes[middle]):
            high = middle
        else:
            low = middle + 1
    shown = "none of those tried" if low == len(fault.sizes) else _shown(fault.sizes[low])
    return key_of(fault), shown, time.process_time() - start


def _shown(size: float) -> str:
    if 0.0 < abs(size - 1.0) < 9e-3:
        return f"1 {'+' if size > 1.0 else '-'} {abs(size - 1.0):.0e}"
    return f"{size:g}" if size < 1e5 else f"{size:.0f}"


def table(found: Mapping[Key, str]) -> str:
    lines = [
        f"dplasso {__version__}: the smallest fault, of the sizes tried, with which a check of the",
        f"quick audit alarms in at least {NEEDED} of {SEEDS} seeds",
        _ROW.format("check", "solver", "fault", "smallest found"),
    ]
    for fault in FAULTS:
        lines.append(_ROW.format(*key_of(fault), found.get(key_of(fault), UNKNOWN)))
    return "\n".join(lines) + "\n"


def known() -> dict[Key, str]:
    """The rows of the table as it stands."""
    rows = (re.split(r"\s{2,}", line) for line in RESULTS.read_text().splitlines()[3:])
    return {(check, solver, what): size for check, solver, what, size in rows}


def save(found: Mapping[Key, str]) -> None:
    """Write the table."""
    RESULTS.write_text(table(found))


def main() -> None:
    command = parser(__doc__)
    command.add_argument("--checks", nargs="+", choices=audit.CHECKS, metavar="NAME")
    command.add_argument("--solvers", nargs="+", choices=SUBJECTS, metavar="NAME")
    command.add_argument("--jobs", type=int, default=1)
    chosen = command.parse_args()
    wanted = [
        fault
        for fault in FAULTS
        if (chosen.checks is None or fault.check in chosen.checks)
        and (chosen.solvers is None or fault.solver in chosen.solvers)
    ]
    found = known()
    with one_core_each(chosen.jobs) as pool:
        for done in as_completed([pool.submit(smallest, fault) for fault in wanted]):
            key, size, seconds = done.result()
            found[key] = size
            print(_ROW.format(*key, size), f"({seconds:.0f} s)", flush=True)
            save(found)


if __name__ == "__main__":
    main()
