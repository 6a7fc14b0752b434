"""Output of the command: tables and warnings for people, or one JSON document."""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.progress import Progress as Bar

from dplasso.base.terminal import printable, printable_lines

if TYPE_CHECKING:  # readers bring numba, which commands that read no rows do without
    from rich.live import Live

    from dplasso.reading.files import Files
    from dplasso.reading.options import Progress

# Names of features and files may look like markup, which is shown unchanged. Control characters in
# them never reach the terminal.
_PLAIN: dict[str, Any] = {"soft_wrap": True, "markup": False, "highlight": False, "emoji": False}
_INDENT = "  "  # of lines after the first, so that a name cannot imitate a message
_out, _err = Console(**_PLAIN), Console(stderr=True, **_PLAIN)


def say(text: str = "") -> None:
    _out.print(printable_lines(text))


def say_paragraph(text: str) -> None:
    """Print a paragraph below what was printed, wrapped to the width of a terminal."""
    lines = printable_lines(text).split("\n")
    if _out.is_terminal:
        lines = [part for line in lines for part in wrap(line, _out.width) or [""]]
    say("\n".join(["", *lines]))


def warn(text: str) -> None:
    _err.print(f"warning: {printable_lines(text, _INDENT)}", style="yellow")


def note(text: str) -> None:
    """Write a line to standard error, next to the results on standard output."""
    _err.print(printable_lines(text, _INDENT))


def watched() -> bool:
    """Whether standard error is a terminal."""
    return bool(_err.is_terminal)


def live_line() -> "Live":
    """Return a line on standard error that is replaced each time it is updated, already shown."""
    from rich.live import Live

    line = Live("", console=_err, auto_refresh=False, transient=True)
    line.start()
    return line


def complain(text: str) -> None:
    _err.print(f"error: {printable_lines(text, _INDENT)}", style="bold red")


def show(title: str, facts: Mapping[str, Any]) -> None:
    """Print names and values in two columns."""
    texts = {printable(name): shown(value) for name, value in facts.items()}
    width = max(map(len, texts))
    say("\n".join([printable(title), *(f"{name:<{width}}  {texts[name]}" for name in texts)]))


def show_rows(title: str, heads: list[str], rows: list[list[Any]]) -> None:
    """Print a table with numbers to the right; wide tables are not cut, as for a file."""
    columns = []
    for k, head in enumerate(heads):
        cells = [printable(head), *(shown(row[k]) for row in rows)]
        numeric = bool(rows) and all(isinstance(row[k], int | float) for row in rows)
        width = max(map(len, cells))
        columns.append([f"{cell:{'>' if numeric else '<'}{width}}" for cell in cells])
    lines = ["  ".join(cells).rstrip() for cells in zip(*columns, strict=True)]
    say("\n".join([title, *lines]).lstrip())


def shown(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return printable(str(value))
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"


def emit(document: Mapping[str, Any]) -> None:
    """Write one JSON document to standard output."""
    json.dump(document, sys.stdout, allow_nan=False)
    sys.stdout.write("\n")


@contextmanager
def reading(files: "Files", *, quiet: bool, what: str = "reading") -> Iterator["Progress | None"]:
    """Yield a callback that shows how much of a file was read; None without a terminal."""
    if quiet or not _err.is_terminal:
        yield None
        return
    from dplasso.reading.formats import format_of

    amount = MofNCompleteColumn() if format_of(files).counts_rows else DownloadColumn()
    columns = (TextColumn(what), BarColumn(), amount, TimeElapsedColumn())
    with Bar(*columns, console=_err, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
