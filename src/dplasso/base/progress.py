"""Progress bars for long work, shown on a terminal if rich is installed."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from dplasso.base.extras import optional


@contextmanager
def rounds_bar(
    total: int, *, shown: bool, beside: Callable[[], str] | None = None
) -> Iterator[Callable[[int], None] | None]:
    """Yield a callback that takes the number of rounds done, or None if no bar is shown.

    ``beside`` returns a text to show after the bar.

    The number of rounds is public. How long they take is not protected: show the bar only to
    people who may see the data. The budget of the work has already been spent, so a bar that
    cannot be written does not stop the work.
    """
    with _bar("rounds", total, counted=True, shown=shown) as update:
        if update is None:
            yield None
        elif beside is None:
            yield lambda done: update(completed=done)
        else:
            yield lambda done: update(completed=done, beside=beside())


@contextmanager
def checks_bar(total: int, *, shown: bool) -> Iterator[Callable[[str, int, float], None]]:
    """Yield a callback that takes the current check, the number of checks done, and the finished
    part of the current one."""
    with _bar("audit", total, counted=False, shown=shown) as update:
        if update is None:
            yield lambda name, done, part: None
            return
        yield lambda name, done, part: update(completed=done + part, description=name)
        update(completed=total)


@contextmanager
def _bar(
    name: str, total: int, *, counted: bool, shown: bool
) -> Iterator[Callable[..., None] | None]:
    """Yield a function that updates the bar, or None if no bar is shown."""
    if not shown or sys.stderr is None or optional("rich") is None:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(file=_Lossy(sys.stderr))  # type: ignore[arg-type]
    count = (MofNCompleteColumn(),) if counted else ()
    text, beside = TextColumn("{task.description:<10}"), TextColumn("{task.fields[beside]}")
    columns = (text, BarColumn(), *count, TimeElapsedColumn(), beside)
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(name, total=total, beside="")
        yield lambda **change: bar.update(task, **change)


class _Lossy:
    """A text stream that drops what it cannot write; rich would end the process instead."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError, ValueError):  # a pipe that nobody reads, or a closed stream
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
