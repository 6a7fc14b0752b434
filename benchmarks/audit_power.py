"""The smallest fault that each check of a quick audit finds with probability 0.9.

    python benchmarks/audit_power.py [--seeds 10] [--checks NAME ...] [--jobs 2]

For each check, faults of graded size are planted in the product: those of
planted_by_degree.py and planted_in_selection.py in tests/helpers. The check alone is made, of one
estimator, as a quick audit makes it and with the limit that it has there. A bisection over the
sizes finds the smallest with which at least 9 of 10 seeds alarm. The table is written to
benchmarks/results/audit_power.txt.
"""

import argparse
import multiprocessing
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "helpers"))

import planted_by_degree as degrees  # noqa: E402
import planted_in_selection as drawing  # noqa: E402
from dplasso import __version__, audit  # noqa: E402
from dplasso.audit import runner  # noqa: E402

RESULTS = Path(__file__).resolve().parent / "results" / "audit_power.txt"
NEEDED = 0.9  # of the seeds

LARGER = (1.01, 1.02, 1.03, 1.04, 1.05, 1.07, 1.1, 1.15, 1.2, 1.3, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0)
SMALLER = (
    0.995,
    0.99,
    0.98,
    0.97,
    0.96,
    0.95,
    0.9,
    0.85,
    0.8,
    0.7,
    0.6,
    0.5,
    0.4,
    0.3,
    0.2,
    0.1,
    0.05,
)
SHARES = (0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0)
JUST_ABOVE = tuple(1.0 + 10.0**-k for k in range(14, 0, -1))


class Fault(NamedTuple):
    """A check, a fault of any size, sizes from the smallest fault to the largest, and a subject."""

    check: str
    what: str
    plant: Callable[[float], Callable[[Any], None]]
    sizes: Sequence[float]
    solver: str = "frank_wolfe"
    options: Mapping[str, Any] = {}


FAULTS = [
    Fault("accounting", "theta stated times", degrees.stated_theta_times, JUST_ABOVE),
    Fault("range", "theta drawn with times", degrees.theta_times, JUST_ABOVE),
    Fault("range", "clip of entries times", degrees.clip_times, JUST_ABOVE),
    Fault("range", "theta of choices times", degrees.theta_of_choices_times, JUST_ABOVE, "select"),
    Fault("sensitivity", "length of rows times", degrees.rows_times, JUST_ABOVE, "gradient"),
    Fault("release", "coefficients times", degrees.coefficients_times, JUST_ABOVE),
    Fault("representation", "clip by precision, times", degrees.clip_by_storage, JUST_ABOVE),
    Fault("generator", "share of bytes with a bit set", degrees.bytes_biased, SHARES),
    Fault("count", "noise of the count times", degrees.noise_of_the_count_times, SMALLER),
    Fault("law", "theta drawn with times", degrees.theta_times, LARGER),
    Fault("law", "share of rounds whose sign is read", drawing.some_signs_read, SHARES),
    Fault("law", "theta of choices times", degrees.theta_of_choices_times, LARGER, "select"),
    Fault("noise", "noise of sums times", degrees.noise_times, SMALLER, "gradient"),
    Fault("noise", "noise of sums times", degrees.noise_times, SMALLER, "select"),
    Fault("noise", "noise of streams times", degrees.noise_of_streams_times, SMALLER, "online"),
    Fault("canary", "theta drawn with times", degrees.theta_times, LARGER),
    Fault("canary", "share of rounds whose sign is read", drawing.some_signs_read, SHARES),
    Fault("canary", "noise of sums times", degrees.noise_times, SMALLER, "gradient"),
    Fault("canary", "noise of sums times", degrees.noise_times, SMALLER, "select"),
    Fault("canary", "noise of streams times", degrees.noise_of_streams_times, SMALLER, "online"),
    Fault("envelope", "drift of scores times", drawing.drift_times, SMALLER),
    Fault("envelope", "Lipschitz constant times", drawing.lipschitz_times, SMALLER),
    Fault("envelope", "scores of cohorts times", drawing.cohort_scores_times, LARGER),
    Fault("envelope", "norms of columns times", drawing.limits_times, SMALLER),
    Fault("envelope", "curvature of the loss times", drawing.curvature_times, SMALLER),
    Fault("envelope", "bound on light columns times", drawing.light_rate_times, SMALLER),
]


def found(fault: Fault, size: float, seeds: int) -> int:
    """Seeds that alarm; no more are tried once too many did not."""
    alarms = 0
    for seed in range(seeds):
        with pytest.MonkeyPatch.context() as monkeypatch:
            # The share of the chance of a false alarm that a test has in a complete audit.
            monkeypatch.setattr(runner, "FALSE_ALARM", _chance(fault))
            fault.plant(size)(monkeypatch)
            estimator = audit.example_estimators(fault.solver, **fault.options)[0]
            alarms += not audit.run(estimator, checks=[fault.check], seed=seed).passed
        if seed + 1 - alarms > (1.0 - NEEDED) * seeds + 1e-9:
            break
    return alarms


def _chance(fault: Fault) -> float:
    """So that the single check has the limits of the complete quick audit."""
    complete = sum(
        asked.tests
        for check in runner.CHECKS.values()
        for k, subject in enumerate(runner._subjects(None, "quick"))
        if (asked := check.asked_of(subject)) is not None and not (check.once and k)
    )
    estimator = audit.example_estimators(fault.solver, **fault.options)[0]
    (subject,) = runner._subjects(estimator, "quick")
    alone = runner.CHECKS[fault.check].asked_of(subject)
    return 1e-4 * max(alone.tests, 1) / complete


def smallest(task: tuple[Fault, int]) -> tuple[Fault, float | None]:
    """The smallest size with which enough seeds alarm, None where none of the sizes does."""
    fault, seeds = task
    low, high = 0, len(fault.sizes)
    while low < high:
        middle = (low + high) // 2
        if found(fault, fault.sizes[middle], seeds) >= NEEDED * seeds:
            high = middle
        else:
            low = middle + 1
    return fault, fault.sizes[low] if low < len(fault.sizes) else None


def table(rows: Sequence[tuple[Fault, float | None]]) -> str:
    lines = [
        f"dplasso {__version__}: the smallest fault, of the sizes tried, with which a check of the "
        "quick audit alarms in at least 9 of 10 seeds",
        f"{'check':<14}  {'of':<11}  {'fault':<36}  smallest",
    ]
    for fault, size in rows:
        shown = "none of those tried" if size is None else _shown(size)
        lines.append(f"{fault.check:<14}  {fault.solver:<11}  {fault.what:<36}  {shown}")
    return "\n".join(lines)


def _shown(size: float) -> str:
    return f"1 + {size - 1.0:.0e}" if 0.0 < size - 1.0 < 9e-3 else f"{size:g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--checks", nargs="+", choices=audit.CHECKS, metavar="NAME")
    parser.add_argument("--jobs", type=int, default=1)
    chosen = parser.parse_args()
    wanted = set(chosen.checks or audit.CHECKS) & set(audit.CHECKS)
    tasks = [(fault, chosen.seeds) for fault in FAULTS if fault.check in wanted]
    rows = []
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(chosen.jobs, mp_context=context) as pool:
        for row in pool.map(smallest, tasks):
            rows.append(row)
            print(table([row]).splitlines()[-1], flush=True)
            if chosen.checks is None:
                RESULTS.write_text(table(rows) + "\n")


if __name__ == "__main__":
    main()
