"""The command line: ``dplasso train``, ``predict``, ``evaluate``, ``inspect``, ..."""

from dplasso.cli.app import main

__all__ = ["main"]
