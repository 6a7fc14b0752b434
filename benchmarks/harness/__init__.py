"""What the scripts of ``benchmarks/`` share: data, measuring, options, results.

Importing it makes ``tests/helpers`` importable, so that scripts try more of what the tests try.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
HELPERS = str(ROOT / "tests" / "helpers")

if HELPERS not in sys.path:
    sys.path.append(HELPERS)
