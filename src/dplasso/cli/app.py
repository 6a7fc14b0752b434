"""The command: its subcommands, its exit codes, and how errors are shown."""

import gc
import sys
import traceback
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

from dplasso import __version__
from dplasso.base.extras import MissingExtraError
from dplasso.base.terminal import printable_lines
from dplasso.base.wording import worded
from dplasso.cli import endings
from dplasso.cli.compiling import compiling_named
from dplasso.cli.output import complain, say, warn
from dplasso.cli.signals import ENDED, ended_by_signals, undisturbed
from dplasso.cli.wording import in_options, number_advice

# Each is a function, or for a group an `app`, in the module of its name. Most bring the estimators,
# which take seconds to import: only the one that was asked for is imported.
COMMANDS = (
    *("schema", "train", "predict", "evaluate", "online", "inspect", "convert", "report"),
    *("export", "audit", "demo"),
)
GROUPS = ("budget", "federated")
FAILED, MISUSED, INTERRUPTED = 1, 2, 130


def app_for(words: Sequence[str]) -> typer.Typer:
    """Return the application with the command that comes first in ``words``, or with all."""
    known = (*COMMANDS, *GROUPS)
    asked = tuple(words[:1]) if words and words[0] in known else known
    app = typer.Typer(
        name="dplasso",
        help="Differentially private sparse linear models for data with millions of features.",
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    app.callback()(_global)
    for name in asked:
        module = import_module(f"dplasso.cli.{name}")
        if name in GROUPS:
            app.add_typer(module.app)
        else:
            app.command()(getattr(module, name))
    return app


def __getattr__(name: str) -> Any:
    if name == "app":
        globals()["app"] = whole = app_for([])
        return whole
    raise AttributeError(f"module 'dplasso.cli.app' has no attribute {name!r}")


def _show_version(asked: bool) -> None:
    if asked:
        say(__version__)
        raise typer.Exit


def _global(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    pass


def main(app: typer.Typer | None = None) -> None:
    """Run the command; by default the application is the one for the words of the command line.

    Exit codes: 0 for success, 1 for a rejection or failure, 2 for misuse or a missing extra, 3 for
    an alarm of an audit, 130 for an interrupt, 143 or 129 for SIGTERM or SIGHUP.

    An error names the file and the remedy. The text of an unforeseen error could contain values of
    the data, so only its place in the code is shown.
    """
    warnings.showwarning = _show_warning
    endings.forget()
    try:
        with ended_by_signals():
            asked = app or app_for(sys.argv[1:])
            with compiling_named():
                _run(asked)
    except SystemExit as end:
        if end.code == INTERRUPTED or end.code in ENDED:
            with undisturbed():
                how = "interrupted" if end.code == INTERRUPTED else "ended by a signal"
                complain(f"{how}; {endings.account()}")
        raise
    except MissingExtraError as error:
        complain(str(error))
        sys.exit(MISUSED)
    except OSError as error:
        known = error.filename is not None and error.strerror is not None
        complain(f"{error.filename}: {error.strerror}" if known else str(error))
    except ValueError as error:
        complain(worded(error, in_options))
    except MemoryError:
        complain("not enough memory; convert the data to a column store and train from that")
    except Exception as error:
        places = "".join(traceback.format_tb(error.__traceback__))
        complain(f"{type(error).__name__}, a defect of dplasso; please report its place:\n{places}")
    finally:
        gc.freeze()  # otherwise Python collects garbage once more before it ends
    sys.exit(FAILED)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    warn(message if isinstance(message, str) else worded(message, in_options))


def _run(app: typer.Typer) -> None:
    try:
        sys.exit(app(standalone_mode=False))
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        misuse: Any = error  # its text quotes what was typed, such as the name of a file
        misuse.message = printable_lines(f"{misuse.message}{number_advice(misuse.message)}", "  ")
        misuse.show()
        sys.exit(misuse.exit_code)


if __name__ == "__main__":
    main()
