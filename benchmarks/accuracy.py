"""Accuracy of the defaults on every set, next to Frank-Wolfe, tuned rivals and no privacy.

    python benchmarks/accuracy.py [--sets adult,a9a] [--methods default,FW] [--epsilons 1]
        [--seeds 10] [--jobs 16] [--data FOLDER] [--cache FILE] [--results FOLDER] [--fresh]
    python benchmarks/accuracy.py --draw

The first form measures, the second saves accuracy.json, accuracy.txt, accuracy.png and the plot of
the README, accuracy_front.png, under benchmarks/results. Every fit is noted in the cache,
accuracy_cache.jsonl beside the results: a run that was stopped goes on where it was, and the table
shows all that is known. What the cache does not have stays as accuracy.json has it, with the note
when it was measured. ``--fresh`` forgets the
chosen methods on the chosen sets first: for ours, after a change of the code. A run ends with the
processor's time that the chosen methods take for ``--budget`` seeds, by set.

Methods are those of ``comparison/methods.py``, by default references and ours; ``--methods
rivals`` stands for all rivals, which take hours on the sparse sets, and minutes on tables. Rivals
have the best settings of a grid, picked on the test rows at no charge. All protect one row more or
less, except diffprivlib, which gets an environment of its own, .venv-diffprivlib, made when it is
first needed. Measuring needs numpy, scipy, numba, scikit-learn and randomgen only; drawing needs
matplotlib too.

Sets are those of ``comparison/sets.py``. Those that are missing from the data folder are left out;
rcv1 and real-sim are LIBSVM files there, rcv1_train.binary and real-sim, plain or .bz2.
"""

import argparse
import os
import subprocess
import time
from pathlib import Path
from typing import Any

from comparison import jobs, splits
from comparison.front import draw_front
from comparison.memory import Memory
from comparison.methods import METHODS, RIVALS, Task, is_done, tasks
from comparison.ours import OURS
from comparison.picture import draw
from comparison.references import NO_EPSILON, REFERENCES
from comparison.sets import SETS
from comparison.table import LEGEND, table, text
from comparison.verdicts import summary
from harness import datasets
from harness.machine import machine
from harness.options import names, numbers, parser
from harness.results import RESULTS, save, saved
from rivals.diffprivlib_rival import DIFFPRIVLIB, interpreter

import dplasso

NAME = "accuracy"


def options() -> argparse.Namespace:
    command = parser(__doc__)
    command.add_argument("--sets", type=names, default=list(SETS), help="names, with commas")
    command.add_argument("--methods", type=names, default=[*REFERENCES, *OURS])
    command.add_argument("--epsilons", type=numbers, help="with commas; all of a set by default")
    command.add_argument("--seeds", type=int, default=10)
    command.add_argument("--jobs", type=int, default=1, help="processes")
    command.add_argument("--data", type=Path, help="folder of the sets; ../shared/data by default")
    command.add_argument("--results", type=Path, default=RESULTS)
    command.add_argument("--cache", type=Path, help=f"{NAME}_cache.jsonl among the results")
    command.add_argument("--fresh", action="store_true", help="forget the chosen methods and sets")
    command.add_argument("--budget", type=int, default=10, help="seeds of the estimate of time")
    command.add_argument("--draw", action="store_true", help="save table and plot; measure nothing")
    chosen = command.parse_args()
    groups = {"rivals": RIVALS, "ours": OURS, "references": REFERENCES}
    chosen.methods = [each for name in chosen.methods for each in groups.get(name, [name])]
    for kind, known in (("sets", SETS), ("methods", METHODS)):
        unknown = set(getattr(chosen, kind)) - set(known)
        if unknown:
            command.error(
                f"--{kind}: no {', '.join(sorted(unknown))}; there are {', '.join(known)}"
            )
    if min(chosen.seeds, chosen.jobs, chosen.budget) < 1:
        command.error("--seeds, --jobs and --budget must be at least 1")
    if chosen.data is not None:
        os.environ[datasets.FOLDER] = str(chosen.data.resolve())  # for all processes
    chosen.cache = chosen.cache or chosen.results / f"{NAME}_cache.jsonl"
    return chosen


def main() -> None:
    chosen = options()
    memory = Memory(chosen.cache)
    if chosen.draw:
        save_table(memory, chosen)
        return
    if chosen.fresh:
        memory.forget(chosen.sets, chosen.methods)
    measure(memory, chosen)


def measure(memory: Memory, chosen: argparse.Namespace) -> None:
    """Do what is not yet in the cache."""
    missing = [name for name in chosen.sets if not splits.at_hand(name)]
    for name in missing:
        print(f"{name:<18}not at hand, left out", flush=True)
    chosen.sets = [name for name in chosen.sets if name not in missing]
    if not set(chosen.methods) <= set(RIVALS):
        memory.note("ours", measured())
    if set(chosen.methods) & set(RIVALS):
        memory.note("rivals", measured())
    left = [task for task in planned(chosen, chosen.seeds) if not _done(task, memory, chosen)]
    if any(task.method == DIFFPRIVLIB.name for task in left) and not has_diffprivlib():
        print("diffprivlib's environment cannot be made here: left out", flush=True)
        left = [task for task in left if task.method != DIFFPRIVLIB.name]
    left.sort(key=lambda task: -SIZES.get(task.data, 0))
    jobs.report(jobs.run(left, chosen.jobs, chosen.cache, chosen.seeds), left)
    print(f"\ntime of the processor for {chosen.budget} seeds:")
    print(jobs.estimate(Memory(chosen.cache), planned(chosen, chosen.budget)))


# Sets that take long, which go first so that no process is left alone with one of them.
SIZES = {
    name: place
    for place, name in enumerate(
        ("imdb_uni", "kddcup99_10pct", "url_subset", "20_newsgroups", "news20_rebuilt", "letter"), 1
    )
}


def planned(chosen: argparse.Namespace, seeds: int) -> list[Task]:
    """All tasks of the chosen methods on the chosen sets."""
    return [
        task
        for name in chosen.sets
        for method in chosen.methods
        for task in tasks(SETS[name], method, seeds)
        if chosen.epsilons is None or task.epsilon in (*chosen.epsilons, NO_EPSILON)
    ]


def _done(task: Task, memory: Memory, chosen: argparse.Namespace) -> bool:
    return is_done(task, memory, chosen.seeds)


def has_diffprivlib() -> bool:
    """Make diffprivlib's environment once, before several processes want it."""
    try:
        return interpreter().exists()
    except (subprocess.CalledProcessError, OSError):
        return False


def measured() -> dict[str, Any]:
    when = time.strftime("%Y-%m-%d")
    return {"measured": f"{when}, dplasso {dplasso.__version__}, {machine()}"}


def save_table(memory: Memory, chosen: argparse.Namespace) -> None:
    try:
        previous = saved(NAME)["rows"]
    except FileNotFoundError:
        previous = []
    rows = table(memory, chosen.seeds, previous)
    if not rows:
        return
    notes = "\n".join(f"measured: {note}" for note in times(rows))
    said = f"{text(rows)}\n\n{summary(rows)}\n\n{LEGEND}\n{notes}"
    print(said)
    save(NAME, said, {"summary": summary(rows), "rows": rows}, folder=chosen.results)
    draw(rows, chosen.results / f"{NAME}.png")
    draw_front(rows, chosen.results / f"{NAME}_front.png")


def times(rows: list[dict[str, Any]]) -> list[str]:
    """When and where which methods were measured."""
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        for method, cell in row["cells"].items():
            kind = "tables" if row["kind"] == "table" else "other sets"
            found.setdefault(cell.get("measured", "unknown"), {})[f"{method} ({kind})"] = None
    return [f"{when}: {', '.join(methods)}" for when, methods in found.items()]


if __name__ == "__main__":
    main()
