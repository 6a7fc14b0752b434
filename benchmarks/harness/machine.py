"""The machine that a script runs on, and the memory and time that something takes there."""

import contextlib
import math
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dplasso.base import threads

MIB = 1 << 20


def machine() -> str:
    """Processor, cores and Python, for the notes under a table."""
    model = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    return f"{model}, {threads.available()} cores, Python {platform.python_version()}"


def peak_reset() -> None:
    """Start the process's high-water mark of memory anew (Linux)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def memory_mib(field: str) -> float:
    """A field of /proc/self/status, such as VmRSS or VmHWM; nan where there is none."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(field):
                return float(line.split()[1]) / 1024
    except OSError:
        pass
    return math.nan


def timed(action: Callable[[], Any]) -> tuple[Any, float]:
    """What an action returns, and the seconds that it took."""
    start = time.perf_counter()
    result = action()
    return result, time.perf_counter() - start
