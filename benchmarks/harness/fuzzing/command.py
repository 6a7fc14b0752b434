"""The command line of a fuzz script: minutes, a seed, findings with what repeats them, a table."""

import argparse
import contextlib
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from harness.fuzzing.door import MIB, Door
from harness.fuzzing.worker import Tally, attempts
from harness.options import parser

RESULT = "RESULT "  # what a line for `stress.py` begins with
_STRIDE = 1 << 40  # seeds of one run; those of another begin beyond


def fuzz(about: str, doors: Sequence[Door]) -> NoReturn:
    """Run a script, and exit with 1 if anything was found."""
    sys.exit(main(about, doors))


def main(about: str, doors: Sequence[Door], argv: Sequence[str] | None = None) -> int:
    """Run attempts at every door; returns 0 where nothing was found, else 1."""
    options = _options(about, doors, argv)
    if options.case is not None:
        return _again(doors, options)
    chosen = [door for door in doors if options.door in (None, door.name)]
    share = options.minutes * 60.0 / len(chosen)
    tallies = []
    for door in chosen:
        first, until = options.seed * _STRIDE, time.monotonic() + share
        most = sys.maxsize if options.cases is None else options.cases
        tally = attempts(door, first, until, most, options.most_findings)
        for seed, what in tally.findings:
            print(f"FOUND {door.name}: {what}; again: {_command(door, seed)}", flush=True)
        print(RESULT + json.dumps(_summary(tally)), flush=True)
        tallies.append(tally)
    print(table([_summary(tally) for tally in tallies]))
    return int(any(tally.findings for tally in tallies))


def table(summaries: Sequence[dict[str, object]]) -> str:
    """One line per door."""
    head = f"{'door':<34}{'cases':>12}{'findings':>10}{'most memory':>14}{'slowest':>10}"
    lines = [head]
    for found in summaries:
        lines.append(
            f"{found['door']!s:<34}{found['cases']:>12,}{found['findings']:>10,}"
            f"{found['memory'] / MIB:>10,.0f} MiB{found['slowest']:>8.2f} s"
        )
    return "\n".join(lines)


def _summary(tally: Tally) -> dict[str, object]:
    return {
        "door": tally.door,
        "cases": tally.cases,
        "findings": len(tally.findings),
        "memory": tally.memory,
        "slowest": tally.slowest,
        "slowest_seed": tally.slowest_seed,
    }


def _options(about: str, doors: Sequence[Door], argv: Sequence[str] | None) -> argparse.Namespace:
    command = parser(about)
    command.add_argument("--minutes", type=float, default=1.0, help="of all doors together")
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--door", choices=[door.name for door in doors], help="this door only")
    command.add_argument("--cases", type=int, help="attempts at each door, at most")
    command.add_argument("--case", type=int, help="one attempt at --door, in this process")
    command.add_argument("--most-findings", type=int, default=20, help="at each door")
    return command.parse_args(argv)


def _again(doors: Sequence[Door], options: argparse.Namespace) -> int:
    """One attempt where a debugger can follow it, in a folder of its own as always."""
    door = next(door for door in doors if options.door in (None, door.name))
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        print(door.attempt(door.prepare(Path(folder)), options.case))
    return 0


def _command(door: Door, seed: int) -> str:
    script = Path(sys.argv[0]).name
    return f"python benchmarks/{script} --door '{door.name}' --case {seed}"
