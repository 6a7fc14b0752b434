"""The command line: ``dplasso train``, ``predict``, ``evaluate``, ``inspect``, ..."""

import gc

# Libraries come with millions of objects that stay until the end: looking for garbage among them,
# again and again, takes a third of the time of importing them.
gc.disable()
from dplasso.cli.app import main  # noqa: E402

gc.freeze()
gc.enable()

__all__ = ["main"]
