"""A stream while it runs, for its owner: a line in the terminal, and a page. NOT PRIVATE."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dplasso.cli.output import live_line, note, shown
from dplasso.report.live_page import LivePage
from dplasso.session import StreamSession

_SECONDS = 2.0  # between two looks
_BLOCKS = "▁▂▃▄▅▆▇█"
_WIDTH = 24  # blocks of the line
_BYTES = "input bytes"
_WARNING = "from the rows, without noise: not private"


class StreamView:
    """Shows how well rows are predicted and what is protected, every few seconds.

    ``line`` shows a line that is replaced, ``page`` writes a page, each if it is asked for.
    """

    def __init__(self, session: StreamSession, *, line: bool, page: Path | None) -> None:
        self._session = session
        self._line = live_line() if line else None
        self._page = None if page is None else LivePage(page)
        self._scores: list[float] = []
        self._next = 0.0

    def look(self) -> None:
        """Show the stream as it is, unless that was done just now."""
        if (self._line or self._page) and time.monotonic() >= self._next:
            self._show(ends=False)
            self._next = time.monotonic() + _SECONDS

    def end(self, *, quiet: bool) -> None:
        """Show the stream for the last time."""
        try:
            self._show(ends=True)
        finally:
            if self._line is not None:  # whatever fails, the terminal gets its cursor back
                self._line.stop()
        if not quiet:
            note(summary(self._session.scores()))

    def _show(self, *, ends: bool) -> None:
        statement, scores = self._session.model.privacy_, self._session.scores()
        if self._page is not None:
            self._page.write(statement, self._session.metrics(), ends=ends)
        if self._line is not None:
            latest = [value for name, value in scores.items() if " of the last " in name]
            self._scores = [*self._scores, *latest][-_WIDTH:]
            told = [f"{name} {shown(value)}" for name, value in scores.items() if name != _BYTES]
            first = "  ".join([", ".join(told), sparkline(self._scores)])
            self._line.update(f"{first}\nNOT PRIVATE; {spent(statement)}", refresh=True)


def summary(scores: Mapping[str, float]) -> str:
    """Scores in one line, with the warning that they need."""
    told = ", ".join(f"{name} {shown(value)}" for name, value in scores.items())
    return f"{told} ({_WARNING})"


def spent(statement: Mapping[str, Any]) -> str:
    """The privacy that each protected row has spent, in one line."""
    window, expired = statement["window_rows"], statement["rows_expired"]
    whom = "every row" if window == "all" else f"each of the last {window:,} rows"
    gone = f", {expired:,} expired" if expired else ""
    return f"epsilon {shown(statement['epsilon'])} spent by {whom}{gone}"


def sparkline(values: list[float]) -> str:
    """Values as blocks of different heights.

    >>> sparkline([0.5, 0.6, 0.7])
    '▁▅█'
    """
    if not values:
        return ""
    low, high = min(values), max(values)
    step = (high - low) / (len(_BLOCKS) - 1) or 1.0
    return "".join(_BLOCKS[round((value - low) / step)] for value in values)
