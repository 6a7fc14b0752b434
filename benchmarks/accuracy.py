"""Ours, as it comes, against private rivals, tuned: every set, every epsilon.

    python benchmarks/accuracy.py [--sets a9a,w8a] [--epsilons 0.1,1,8] [--seeds 10]
        [--columns ours,DP-GD] [--fresh] [--file rcv1=rcv1_train.binary.bz2]

Saves accuracy.json, accuracy.txt and accuracy.png under benchmarks/results. Every fit is noted in
accuracy_cache.jsonl beside them: a run that was stopped goes on where it was, and the table shows
all that is known. ``--fresh`` forgets the chosen columns on the chosen sets first: for ours, after
a change of the code.

All get the same split and delta = 1 / n^2, n training rows, and protect one row more or less (but
see diffprivlib). Ours has declared facts only: classes, n, a bound on entries, and that those of
splice are numbers, never 0. Rivals have the best settings of a grid, picked on the test rows
at no charge, and rows of length 1, as presence or as they are; the grids are told in
``benchmarks/rivals``: dp_sgd.py, dp_gd.py, amp.py, diffprivlib_rival.py. diffprivlib gets an
environment of its own, .venv-diffprivlib, made when it is first needed.

Sets are those of ``harness/datasets.py``; rcv1 and real-sim are LIBSVM files, given by ``--file``
or in the data folder as rcv1_train.binary and real-sim, plain or .bz2. Missing sets are left out.
"""

import argparse
from pathlib import Path

from comparison import cases
from comparison.columns import COLUMNS, facts, run
from comparison.memory import Memory
from comparison.picture import draw
from comparison.table import LEGEND, summary, table, text
from harness.machine import machine
from harness.options import allow_seeds, names, study
from harness.results import RESULTS, save


def options() -> argparse.Namespace:
    command = study(__doc__, cases.SETS, cases.EPSILONS, seeds=10)
    command.add_argument("--columns", type=names, default=list(COLUMNS))
    command.add_argument("--fresh", action="store_true", help="forget the chosen columns and sets")
    command.add_argument("--file", type=_file, action="append", default=[], metavar="NAME=PATH")
    command.add_argument("--results", type=Path, default=RESULTS)
    command.add_argument("--cache", type=Path, help="accuracy_cache.jsonl among the results")
    chosen = command.parse_args()
    for kind, known in (("sets", cases.SETS), ("columns", COLUMNS)):
        unknown = set(getattr(chosen, kind)) - set(known)
        if unknown:
            command.error(
                f"--{kind}: no {', '.join(sorted(unknown))}; there are {', '.join(known)}"
            )
    if chosen.seeds < 1:
        command.error("--seeds must be at least 1")
    return chosen


def _file(text: str) -> tuple[str, Path]:
    name, _, path = text.partition("=")
    if name not in cases.FILES or not path:
        raise argparse.ArgumentTypeError(f"give NAME=PATH, NAME one of {', '.join(cases.FILES)}")
    return name, Path(path)


def main() -> None:
    chosen = options()
    allow_seeds()
    memory = Memory(chosen.cache or chosen.results / "accuracy_cache.jsonl")
    if chosen.fresh:
        memory.forget(chosen.sets, chosen.columns)
    for name in chosen.sets:
        problem = cases.load(name, dict(chosen.file))
        if problem is None:
            print(f"{name:<18}not at hand, left out", flush=True)
            continue
        memory.note(name, facts(problem, cases.measure(name)))
        for column in chosen.columns:
            run(column, problem, chosen.epsilons, chosen.seeds, memory)
    save_table(memory, chosen)


def save_table(memory: Memory, chosen: argparse.Namespace) -> None:
    rows = table(memory, sorted({*cases.EPSILONS, *chosen.epsilons}), chosen.seeds)
    if not rows:
        return
    said = f"{text(rows)}\n\n{summary(rows)}\n\n{LEGEND}\n{machine()}"
    print(said)
    facts = {"machine": machine(), "summary": summary(rows), "rows": rows}
    save("accuracy", said, facts, folder=chosen.results)
    draw(rows, chosen.results / "accuracy.png")


if __name__ == "__main__":
    main()
