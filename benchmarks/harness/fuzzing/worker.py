"""Attempts in a child process, so that a crash, a hang or a memory bomb ends that child alone."""

import json
import mmap
import os
import resource
import shutil
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from harness.fuzzing.door import MIB, Door

_NOTE = struct.Struct("<QQQdQQ")  # seed at work, attempts, cases, slowest, its seed, most memory
_BEYOND = 4 << 30  # bytes of address space that a child may take beyond what it starts with
_LONGEST = 400  # characters of a finding
_A_CHILD = 1000  # attempts, after which a new one starts with its address space unused
_COLD = 3  # attempts of a child that are not measured: they import, and compile
_FIRST_SECONDS = 120.0


@dataclass
class Tally:
    """What attempts at one door came to."""

    door: str
    cases: int = 0
    slowest: float = 0.0
    slowest_seed: int = 0
    memory: int = 0  # the most bytes that an attempt added
    findings: list[tuple[int, str]] = field(default_factory=list)


def attempts(door: Door, first: int, until: float, most: int, stop_after: int) -> Tally:
    """Seeds from ``first`` on, until a time, ``most`` attempts or ``stop_after`` findings."""
    tally, done = Tally(door.name), 0
    while done < most and time.monotonic() < until and len(tally.findings) < stop_after:
        tried = _child(door, first + done, until, most - done, stop_after, tally)
        if tried == 0:
            break  # it could not even prepare: that is the finding
        done += tried
    return tally


def _child(door: Door, first: int, until: float, most: int, stop_after: int, tally: Tally) -> int:
    """Attempts in one child until it ends or dies; returns how many seeds were used up."""
    shared = mmap.mmap(-1, _NOTE.size)
    reading, writing = os.pipe()
    folder = tempfile.mkdtemp(prefix="dplasso-fuzz-")
    sys.stdout.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads here: the child has none
        child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(reading)
            _work(door, Path(folder), first, until, most, shared, writing)
            code = 0
        except BaseException:
            _tell(writing, first, "no attempt was made: " + _described())
        finally:
            os._exit(code)
    os.close(writing)
    enough = False
    with os.fdopen(reading, "rb") as pipe:
        for line in pipe:
            seed, what = json.loads(line)
            tally.findings.append((seed, what))
            if enough := len(tally.findings) >= stop_after:
                os.kill(child, signal.SIGKILL)
                break
    _, status = os.waitpid(child, 0)
    shutil.rmtree(folder, ignore_errors=True)
    seed, tried, cases, slowest, slowest_seed, memory = _NOTE.unpack(shared[:])
    tally.cases += cases
    tally.memory = max(tally.memory, memory)
    if slowest > tally.slowest:
        tally.slowest, tally.slowest_seed = slowest, slowest_seed
    if os.WIFSIGNALED(status) and not enough:
        number = os.WTERMSIG(status)
        name = signal.Signals(number).name
        hung = number == signal.SIGALRM
        why = f"took longer than {door.seconds:g} s" if hung else f"the process died of {name}"
        tally.findings.append((seed, why))
        tally.cases += 1
        if hung:
            tally.slowest, tally.slowest_seed = door.seconds, seed
        return seed - first + 1
    return tried


def _work(
    door: Door,
    folder: Path,
    first: int,
    until: float,
    most: int,
    shared: mmap.mmap,
    writing: int,
) -> None:
    """In the child: prepare, then one seed after the other; notes are in shared memory."""
    _quiet(folder)
    held = door.prepare(folder)
    np.ones((256, 256)) @ np.ones((256, 256))  # BLAS takes buffers once, which are no finding
    _limit_memory()
    tried = cases = memory = 0
    slowest, slowest_seed = 0.0, first
    for seed in range(first, first + min(most, _A_CHILD)):
        if time.monotonic() >= until:
            break
        shared[:] = _NOTE.pack(seed, tried, cases, slowest, slowest_seed, memory)
        before, start = _forget_peak(), time.perf_counter()
        warm = tried >= _COLD
        signal.setitimer(signal.ITIMER_REAL, door.seconds if warm else _FIRST_SECONDS)
        size = 0
        try:
            found = door.attempt(held, seed)
            size = found.size
            cases += found.cases
        except BaseException:
            cases += 1
            _tell(writing, seed, _described())
        signal.setitimer(signal.ITIMER_REAL, 0)
        took, added = time.perf_counter() - start, max(0, _peak() - before)
        tried += 1
        if not warm:
            continue
        if took > slowest:
            slowest, slowest_seed = took, seed
        memory = max(memory, added)
        if added > door.flat + door.multiple * size:
            _tell(writing, seed, f"took {added / MIB:,.0f} MiB for {size:,} bytes of input")
    shared[:] = _NOTE.pack(first + tried, tried, cases, slowest, slowest_seed, memory)


def _quiet(folder: Path) -> None:
    """Attempts run in their folder, and whatever they print goes nowhere."""
    os.chdir(folder)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + _BEYOND
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _forget_peak() -> int:
    """Have the peak of resident memory start anew; returns what is resident, in bytes."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    return _status("VmRSS")


def _peak() -> int:
    return _status("VmHWM")


def _status(name: str) -> int:
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith(f"{name}:"))


def _tell(writing: int, seed: int, what: str) -> None:
    os.write(writing, json.dumps([seed, what[:_LONGEST]]).encode() + b"\n")


def _described() -> str:
    """The exception that is being handled: its kind, its message, and where it came from."""
    kind, error, trace = sys.exc_info()
    assert kind is not None
    last = traceback.extract_tb(trace)[-1]
    place = f"{Path(last.filename).name}:{last.lineno}"
    return f"{kind.__name__} at {place}: {' '.join(str(error).split())}"
