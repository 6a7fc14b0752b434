"""Set-up shared by all tests."""

from pathlib import Path

import dplasso.kernels

# numba's cache looks at the file a function stands in, not at those of the functions it calls:
# compiled code older than any kernel may be wrong.
_SOURCES = Path(dplasso.kernels.__file__).parent


def pytest_configure(config):
    if hasattr(config, "workerinput"):
        return
    newest = max(source.stat().st_mtime for source in _SOURCES.glob("*.py"))
    for compiled in (_SOURCES / "__pycache__").glob("*.nb[ic]"):
        if compiled.stat().st_mtime < newest:
            compiled.unlink(missing_ok=True)
