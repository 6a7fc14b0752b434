"""Train, convert and save, killed with SIGKILL 100 times in all: nothing half-written is found.

    python benchmarks/killed.py [--kills 100]

Moments are spread over the run of each, half of them while it writes. After every kill, what is
under the final name must load, or be absent; after all of them, a run that is not killed succeeds.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from harness.options import parser

import killing  # the tests kill in the same way, less often
from dplasso import load

SAVE_FOR_EVER = """
import sys
import dplasso

model, more = dplasso.load(sys.argv[1]), dplasso.load(sys.argv[1])
more.feature_names_in_[:] = "another name of a feature"
print("ready", flush=True)
while True:
    model.save(sys.argv[1])
    more.save(sys.argv[1])
"""


def kill_saves(data: Path, target: Path, count: int, seed: int) -> int:
    subprocess.run(killing.train(data, target), check=True)
    for moment in np.random.default_rng(seed).uniform(0.0, 0.05, count):
        command = [sys.executable, "-c", SAVE_FOR_EVER, target]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        process.stdout.readline()
        time.sleep(moment)
        process.kill()
        process.communicate()
        load(target)
    subprocess.run(killing.train(data, target), check=True)
    load(target)
    return count


def main() -> None:
    command = parser(__doc__)
    command.add_argument("--kills", type=int, default=100)
    kills = command.parse_args().kills
    print(f"{'what':<10}{'killed':>8}{'at work':>9}  left under the final name")
    with tempfile.TemporaryDirectory() as folder:
        data = killing.write_rows(Path(folder) / "rows.svm", 20_000)
        counts = {"train": kills - 2 * (kills // 3), "convert": kills // 3, "save": kills // 3}
        for seed, (what, count) in enumerate(counts.items()):
            target = Path(folder) / what / "made"
            target.parent.mkdir()
            if what == "save":
                killed = kill_saves(data, target, count, seed)
            else:
                killed = killing.kill_often(getattr(killing, what), data, target, count, seed)
            # Half a file would have ended this with an error.
            print(f"{what:<10}{count:>8}{killed:>9}  whole or absent, every time", flush=True)


if __name__ == "__main__":
    main()
