"""What the fuzz scripts share: doors, workers that survive crashes, mutators, and a command line.

A script (``benchmarks/fuzz_*.py``) lists its doors and calls `fuzz`:

    from harness.fuzzing import Door, Tried, fuzz

    DOORS = [Door("a format", prepare, attempt)]

    if __name__ == "__main__":
        fuzz(__doc__, DOORS)
"""

from harness.fuzzing.command import fuzz
from harness.fuzzing.door import Door, Tried
from harness.fuzzing.worker import Tally

__all__ = ["Door", "Tally", "Tried", "fuzz"]
