"""How long an administrator waits for `submit`, `status` and `fetch` of a running federation.

    python benchmarks/federated_commands.py [--times 5]

A real server and three parties run on this machine, and their jobs are short. Medians of elapsed
seconds and of processor seconds of each command; the load is that of the machine before the first.
"""

import os
import resource
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from harness.machine import machine
from harness.options import parser
from harness.results import save

from drawing_parties import HONEST
from federation import Federation

SHORT = ("--rounds", 5, "--epsilon", 0.1, "--tau", HONEST, "--delta", 1e-6, "--n-rows", 100)


def timed(federation: Federation, *words: Any) -> tuple[str, float, float]:
    """What a command says, its elapsed seconds, and its processor seconds."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    said = federation.command(*words)
    elapsed, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return said, elapsed, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measured(federation: Federation, folder: Path, times: int) -> dict[str, list[float]]:
    """Median elapsed and processor seconds of each command."""
    admin, found = federation.folder / "admin", {"submit": [], "status": [], "fetch": []}
    for k in range(times):
        said, *submit = timed(federation, "submit", admin, *SHORT, "--label-holder", "clinic")
        job = said.strip()
        federation.outcome(job)
        federation.command("status", admin, "--follow")  # until the job is over
        _, *status = timed(federation, "status", admin)
        _, *fetch = timed(federation, "fetch", admin, job, "-o", folder / f"card{k}.json")
        for name, seconds in (("submit", submit), ("status", status), ("fetch", fetch)):
            found[name].append(seconds)
    return {
        name: [statistics.median(s) for s in zip(*runs, strict=True)]
        for name, runs in found.items()
    }


def main() -> None:
    command = parser(__doc__)
    command.add_argument("--times", type=int, default=5)
    options = command.parse_args()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        federation = Federation(Path(name))
        try:
            federation.start_all()
            found = measured(federation, Path(name), options.times)
        finally:
            federation.close()
    lines = [f"medians of {options.times}; load {load:.1f} at the start; {machine()}"]
    lines += [f"{n:<8}{e:>6.2f} s elapsed{c:>6.2f} s of processor" for n, (e, c) in found.items()]
    print("\n".join(lines))
    save("federated_commands", "\n".join(lines))


if __name__ == "__main__":
    main()
