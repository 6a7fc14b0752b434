"""A progress bar for long work, silent unless someone is watching a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def rounds_bar(total: int, *, shown: bool) -> Iterator[Callable[[int], None] | None]:
    """A callback that takes the number of rounds done; None where nothing is to be shown.

    The number of rounds is public. How long they take is not protected: show the bar only to
    people who may see the data.
    """
    if not shown:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("rounds"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("rounds", total=total)
        yield lambda done: bar.update(task, completed=done)
