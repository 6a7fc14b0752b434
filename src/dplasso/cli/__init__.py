"""The command line: ``dplasso train``, ``predict``, ``evaluate``, ``inspect``, ..."""

import gc
import sys

from dplasso.base.extras import MissingExtraError, require


def main() -> None:
    """Run the command; without the extra ``cli``, say so and exit with code 2.

    Its libraries are imported here, so that Ctrl-C may end that, too.
    """
    try:
        for library in ("typer", "rich"):
            require(library, extra="cli", purpose="the command dplasso")
        # Libraries come with millions of objects that stay until the end: looking for garbage
        # among them, again and again, takes a third of the time of importing them.
        gc.disable()
        from dplasso.cli.app import app_for
        from dplasso.cli.app import main as run

        app = app_for(sys.argv[1:])

        gc.freeze()
        gc.enable()
    except MissingExtraError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("error: interrupted; nothing was begun", file=sys.stderr)
        sys.exit(130)
    run(app)


__all__ = ["main"]
