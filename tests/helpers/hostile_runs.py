"""Run cases that may kill a process in a separate, supervised process.

A module of cases has ``judge()``, which returns a function from a seed to the error found, or None.
Shared with benchmarks/fuzz_matrices.py.
"""

import importlib
import json
import os
import resource
import select
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np

# Limits per case, whose input is a few kilobytes: seconds of work, and bytes beyond the start.
# Compilation during a case may take as long again.
LONGEST, MOST_MEMORY = 10.0, 1 << 30
_PATIENCE = 12  # times as long, where other processes share the machine
_RETRIES = 2


def serve(module, first, last):
    """Judge cases one after the other. Each seed is printed first, in case the process dies."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    judge = importlib.import_module(module).judge()
    _limit_memory()
    for seed in range(first, last):
        print(json.dumps({"seed": seed}), flush=True)
        found = judge(seed)
        if found is not None:
            print(json.dumps({"seed": seed, "found": found}), flush=True)
    print(json.dumps({"seed": last, "end": True}), flush=True)


def findings(module, first, last, until=float("inf")):
    """What is wrong with the cases from ``first`` to ``last``: lines that name the seed. Ends at a
    time, too; returns them and the first seed that was not tried."""
    found, tried_again = [], []
    while first < last and time.monotonic() < until:
        seed, ended = _watch(module, first, last, until, found)
        if not ended and found[-1] == _hangs(module, seed) and tried_again.count(seed) < _RETRIES:
            # It may have compiled all that time. Compiled functions are kept for the next attempt.
            tried_again.append(seed)
            first = seed
            found.pop()
            continue
        first = seed if ended else seed + 1
    return found, first


def _hangs(module, seed):
    return f"{module} {seed}: hangs"


def _watch(module, first, last, until, found):
    """Run cases until one kills or hangs the process; returns its seed, and whether none did."""
    started = False  # importing and compiling come before the cases, and take longer
    code = f"import hostile_runs; hostile_runs.serve({module!r}, {first}, {last})"
    paths = [str(Path(__file__).parent), *sys.path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, "-c", code]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as child:
        seed = first
        try:
            while line := _line(child, found, module, seed, started, until):
                started = True
                told = json.loads(line)
                seed = told["seed"]
                if "found" in told:
                    found.append(f"{module} {seed}: {told['found']}")
                if "end" in told or time.monotonic() > until:
                    return seed, True
            if not started and time.monotonic() > until:
                return seed, True
        finally:
            child.kill()
        if not found or found[-1] != _hangs(module, seed):
            said = child.stderr.read()[-300:]
            found.append(f"{module} {seed}: died with {child.wait()} {said}")
        return seed, False


def _line(child, found, module, seed, started, until):
    """The next line of a child; none where it ended, or worked too long on a case."""
    start, worked = time.monotonic(), _worked(child.pid)
    patience = _PATIENCE * LONGEST * (1 if started else 5)
    while not select.select([child.stdout], [], [], 1.0)[0]:
        if not started and time.monotonic() > until:
            return ""
        long = started and _worked(child.pid) - worked > 2 * LONGEST
        if long or time.monotonic() - start > patience:
            found.append(_hangs(module, seed))
            return ""
    return child.stdout.readline()


def _worked(process):
    """Processor time of a process, in seconds."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _limit_memory():
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    taken = pages * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (taken + MOST_MEMORY,) * 2)
