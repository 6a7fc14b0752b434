"""The command, as ``python -m dplasso``."""

from dplasso.cli import main

main()
