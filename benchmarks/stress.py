"""All fuzz scripts in turn, two at a time: no crash, no hang, no memory bomb, clear errors.

    python benchmarks/stress.py [--minutes 60] [--seed 0]

The scripts are ``benchmarks/fuzz_*.py``; each takes ``--minutes`` and ``--seed``, prints a line for
every finding with the command that repeats it, a line ``RESULT {json}`` for every door, and exits
with 0 if nothing was found. The table goes to ``benchmarks/results/stress.txt``.
"""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness import ROOT
from harness.fuzzing.command import RESULT, table
from harness.machine import machine
from harness.options import parser
from harness.results import save

AT_ONCE = 2
_PATIENCE = 10.0  # minutes that a script may take to end, beyond those it was given


def run(script: Path, minutes: float, seed: int) -> tuple[list[dict], list[str]]:
    """Summaries of the doors of one script, and what it found."""
    command = [sys.executable, str(script), "--minutes", f"{minutes:.4f}", "--seed", str(seed)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=60.0 * (minutes + _PATIENCE)
        )
        output, code = done.stdout.splitlines(), done.returncode
        trouble = done.stderr.strip().splitlines()[-1:]
    except subprocess.TimeoutExpired:
        output, code, trouble = [], 1, ["it did not end"]
    doors = [json.loads(line[len(RESULT) :]) for line in output if line.startswith(RESULT)]
    found = [line for line in output if line.startswith("FOUND ")]
    if code != 0 and not found:
        found = [f"FOUND {script.name}: exit code {code}: {' '.join(trouble)}"]
    if not doors:
        cases = {"cases": 0, "findings": len(found), "memory": 0, "slowest": 0.0}
        doors = [{"door": script.stem, **cases}]
    print(f"{script.name}: {len(found)} found", flush=True)
    return doors, found


def main() -> int:
    command = parser(__doc__)
    command.add_argument("--minutes", type=float, default=60.0)
    command.add_argument("--seed", type=int, default=0)
    options = command.parse_args()
    scripts = sorted((ROOT / "benchmarks").glob("fuzz_*.py"))
    minutes = options.minutes * AT_ONCE / len(scripts)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = list(pool.map(lambda script: run(script, minutes, options.seed), scripts))
    found = [line for _, lines in results for line in lines]
    text = "\n".join(
        [
            f"{options.minutes:g} minutes, {AT_ONCE} scripts at a time, seed {options.seed}",
            machine(),
            "",
            table([door for doors, _ in results for door in doors]),
            "",
            *(found or ["nothing was found"]),
        ]
    )
    print(text)
    save("stress", text)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
