"""The command line: ``dplasso train``, ``predict``, ``evaluate``, ``inspect``, ..."""

import gc
import sys


def main() -> None:
    """Run the command. Its libraries are imported here, so that Ctrl-C may end that, too."""
    try:
        # Libraries come with millions of objects that stay until the end: looking for garbage
        # among them, again and again, takes a third of the time of importing them.
        gc.disable()
        from dplasso.cli.app import main as run

        gc.freeze()
        gc.enable()
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted; nothing was begun\n")
        sys.exit(130)
    run()


__all__ = ["main"]
