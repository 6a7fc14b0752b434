"""A million malformed inputs to the ledger: clear errors, nothing corrupted.

    python benchmarks/fuzz_ledger.py [--inputs 1000000] [--seed 0]

Lines with characters or values altered; events altered; charges with odd arguments; files of a
ledger with bytes altered or cut off. Each must be refused by an error meant for people, or be taken
for exactly what it is, and a refusal must leave the ledger as it was.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import broken_ledgers  # noqa: E402  (the tests try fewer)
from dplasso.ledger import Budget  # noqa: E402

SHARES = {"lines": 0.60, "events": 0.387, "charges": 0.01, "files": 0.003}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    tried: Counter[str] = Counter()
    wrong: list[tuple[str, int]] = []
    lines = broken_ledgers.sound_lines(6)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        path, copy = Path(folder) / "budget.sqlite", Path(folder) / "copy.sqlite"
        for _ in range(8):
            Budget(1.0, 1e-6, path).charge(
                broken_ledgers.EVENT, delta=1e-6, neighboring="add_remove", label="a release"
            )
        before = path.read_bytes()
        charged = Path(folder) / "charged"
        checks = {
            "lines": lambda seed: broken_ledgers.check_line(lines, seed),
            "events": broken_ledgers.check_event,
            # A new ledger now and then: entries that were accepted are read by every check.
            "charges": lambda seed: broken_ledgers.check_charge(
                Budget(1.0, 1e-6, f"{charged}-{seed // 100}"), seed
            ),
            "files": lambda seed: broken_ledgers.check_file(path, copy, seed),
        }
        for kind, share in SHARES.items():
            for k in range(round(options.inputs * share)):
                seed = options.seed * options.inputs + len(tried) * 10**9 + k
                try:
                    good = checks[kind](seed)
                except Exception as error:  # an error that is not meant for people
                    print(kind, seed, repr(error)[:200])
                    good = False
                tried[kind] += 1
                if not good:
                    wrong.append((kind, seed))
            print(f"{kind:<10}{tried[kind]:>10,}  {time.perf_counter() - start:6.0f} s", flush=True)
        if path.read_bytes() != before:
            sys.exit("the ledger beside the damaged copies was altered")
    print(
        f"{sum(tried.values()):,} inputs, seed {options.seed}; dealt with wrongly: {len(wrong):,}"
    )
    for kind, seed in wrong[:10]:
        print(kind, seed)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
