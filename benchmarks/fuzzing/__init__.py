"""What the fuzz scripts share: doors, workers that survive crashes, mutators, and a command line.

A script (``benchmarks/fuzz_*.py``) lists its doors and calls `main`:

    from fuzzing import Door, Tried, main as fuzz

    DOORS = [Door("a format", prepare, attempt)]

    def main(argv=None):
        return fuzz(__doc__, DOORS, argv)

    if __name__ == "__main__":
        sys.exit(main())
"""

from fuzzing.command import main
from fuzzing.door import Door, Tried
from fuzzing.worker import Tally

__all__ = ["Door", "Tally", "Tried", "main"]
