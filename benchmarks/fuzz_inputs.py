"""Malformed model files and options of the command line: clear errors, nothing corrupted.

    python benchmarks/fuzz_inputs.py [--models 300000] [--commands 30000] [--seed 0]

Model files with bytes altered, half of them with a digest that fits; commands with odd options and
values. Each must be refused by an error meant for people, or be taken for exactly what it is.
`fuzz_ledger.py` does the same for the ledger, `fuzz_reader.py` for the reader of rows.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import broken_inputs  # noqa: E402  (the tests try fewer)


def fresh(folder: Path) -> bytes:
    """Commands wrote what they were told to; start again."""
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return broken_inputs.playground(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, default=300_000)
    parser.add_argument("--commands", type=int, default=30_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder, start = Path(name), time.perf_counter()
        os.chdir(folder)
        content = fresh(folder)
        for k in range(options.models):
            found = broken_inputs.check_model(folder / "x.dpl", content, (options.seed << 40) + k)
            wrong += [] if found is None else [f"model {k}: {found}"]
        print(f"models    {options.models:>9,}  {time.perf_counter() - start:6.0f} s", flush=True)
        for k in range(options.commands):
            if k % 50 == 0:
                fresh(folder)
            found = broken_inputs.check_command(folder, (options.seed << 40) + k)
            wrong += [] if found is None else [f"command {k}: {found}"]
        print(f"commands  {options.commands:>9,}  {time.perf_counter() - start:6.0f} s", flush=True)
        os.chdir("/")
    print(f"{options.models + options.commands:,} inputs; dealt with wrongly: {len(wrong):,}")
    print("\n".join(wrong[:10]))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
