"""A page that follows a stream while it runs: how well rows are predicted, and what is protected.

It is for the owner of the data only. Scores depend on rows and labels without noise.
"""

import os
from collections.abc import Mapping
from typing import Any

from dplasso.report.charts import stacked, swatch
from dplasso.report.html_document import html_document
from dplasso.report.markup import Markup, callout, join, section, table, tag
from dplasso.report.names import number, score_text
from dplasso.report.progress import Point, Progress, progress_section
from dplasso.storage.atomic import replace_file

_MOST_POINTS = 400
_SECONDS = 5  # after which a browser loads the page again


class LivePage:
    """A file that is replaced in one step each time, readable only by its owner.

    Formal guarantees
    -----------------
    The page is NOT PRIVATE, and says so: scores are functions of rows and labels without noise. The
    numbers under "What has been spent" are public. Where there is no noise, or noise that a seed
    tells, the page says that too.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path
        self._points: list[Point] = []

    def write(
        self, statement: Mapping[str, Any], metrics: Mapping[str, Any], *, ends: bool
    ) -> None:
        """Write the page anew; ``metrics`` is what ``metrics.json`` of a state folder has."""
        curve = metrics["curve"]
        for rows, so_far, recent in curve["points"]:
            if not self._points or rows > self._points[-1][0]:
                self._points.append((float(rows), float(so_far), float(recent)))
        if len(self._points) > _MOST_POINTS:  # every other one, and the latest
            self._points = [*self._points[1:-1:2], self._points[-1]]
        progress = Progress(curve["score"], curve["recent_rows"], tuple(self._points))
        page = live_page(statement, progress, ends=ends)
        replace_file(self._path, page.encode("utf-8"))


def live_page(statement: Mapping[str, Any], progress: Progress, *, ends: bool) -> str:
    """Return the page as text."""
    state = "The stream has stopped." if ends else "The stream is running."
    again = "" if ends else f" This page loads itself again every {_SECONDS} seconds."
    header = tag(
        "header",
        tag("h1", "A private stream"),
        callout(
            "danger",
            "NOT PRIVATE: for the owner of the data only.",
            "Accuracy is a function of raw rows and labels. Do not publish this page; publish the "
            "snapshot, or the report of the snapshot.",
        ),
        tag("p", state + again),
        _headline(statement, progress),
    )
    parts = [header, _spent(statement)]
    if progress.points:
        parts.append(progress_section(progress))
    main = tag("main", *parts, id="main")
    return html_document("A private stream, NOT PRIVATE", main, again=None if ends else _SECONDS)


def _headline(statement: Mapping[str, Any], progress: Progress) -> Markup:
    if not progress.points:
        return tag("p", "No row was learned from yet.")
    rows, so_far, recent = progress.points[-1]
    return tag(
        "p",
        tag("strong", f"{int(rows):,} rows"),
        f", {progress.score} {score_text(so_far)}, of the last {progress.recent_rows:,} "
        f"{score_text(recent)}.",
    )


def _spent(statement: Mapping[str, Any]) -> Markup:
    """What the stream costs each row, and which rows are protected."""
    seen, expired = int(statement["rows_seen"]), int(statement["rows_expired"])
    epsilon, delta = statement["epsilon"], statement["delta"]
    if epsilon == "inf":
        words = callout(
            "danger", "Epsilon is infinity.", "Releases have no noise and protect no row."
        )
        return section("spent", "What has been spent", words)
    protected = seen - expired
    warning = Markup()
    if not statement["secure_rng"]:
        warning = callout(
            "danger",
            "NOT SECURE: the noise comes from a given seed or generator.",
            "Whoever knows it can undo the protection.",
        )
    words = tag(
        "p",
        "Each protected row has spent ",
        tag("strong", f"epsilon {number(epsilon)}, delta {number(delta)}"),
        " at most, in all releases together. It was charged once, when the stream began, and does "
        "not grow with the stream.",
    )
    rows = [
        ("Rows so far", f"{seen:,}"),
        ("Protected now", f"{protected:,}"),
        ("Expired: no longer protected", f"{expired:,}"),
        ("Window", _window(statement["window_rows"])),
        ("Noise", str(statement["mechanism"])),
    ]
    if "ledger" in statement:
        rows.append(("Charged to a ledger", "yes"))
    drawn = Markup()
    if seen:
        name = f"{protected:,} rows are protected, {expired:,} have expired"
        shares = {"before": expired / seen, "own": protected / seen}
        told = tag("p", swatch("before"), " expired ", swatch("own"), " protected", class_="key")
        drawn = join(stacked("protected", name, "The table has the numbers.", shares), told)
    return section(
        *("spent", "What has been spent", warning, words, drawn),
        table("In numbers", ("", ""), rows),
    )


def _window(rows: int | str) -> str:
    return "every row, forever" if rows == "all" else f"the last {int(rows):,} rows"
