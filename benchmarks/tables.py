"""Put the saved results into the README and the documentation, between markers.

python benchmarks/tables.py

What stands between ``<!-- speed -->`` and ``<!-- /speed -->`` is written here, and so for every
name in SEGMENTS. tests/docs/test_figures.py compares pages with results.
"""

import re
from collections.abc import Callable
from pathlib import Path

from comparison.readme import accuracy, accuracy_line, by_epsilon, fits
from harness import ROOT
from harness.results import saved
from segments import federated, noise, speed, streams

SEGMENTS: dict[str, Callable[[], str]] = {
    "advanced-composition": noise.advanced_composition,
    "breakdown": speed.breakdown,
    "compiling": speed.compiling,
    "stream-bins": lambda: streams.bins(saved("online_bins")),
    "running-sums": lambda: streams.running_sums(saved("running_sums")),
    "default-fits": speed.default_fits,
    "end-to-end": speed.end_to_end,
    "first-fit": speed.first_fit,
    "kdda": speed.kdda,
    "proposals": speed.proposals,
    "reading": speed.reading,
    "speed": speed.selection,
    "speed-line": speed.speed_line,
    "selection-sentence": speed.selection_sentence,
    "accuracy": lambda: accuracy(saved("accuracy")),
    "tables-by-epsilon": lambda: by_epsilon(
        saved("accuracy"), ("adult", "telco_churn", "california", "letter")
    ),
    "accuracy-line": lambda: accuracy_line(saved("accuracy")),
    "federated-moments": federated.moments,
    "federated-sketches": federated.sketches,
    "fits": lambda: fits(saved("accuracy")),
    "long-streams": lambda: streams.long_streams(saved("online")),
    "short-streams": lambda: streams.short_streams(saved("online_short")),
    "flipped-labels": lambda: streams.flips(saved("online_short")),
    "stream-parts": lambda: streams.parts(saved("online_speed")),
    "stream-speed": lambda: streams.speed(saved("online_speed")),
}
MARKED = re.compile(
    r"<!-- (?P<name>[\w-]+) -->(?P<break>\n?)(?P<text>.*?)(?P=break)<!-- /(?P=name) -->", re.DOTALL
)
BUILT = ("_build", "gallery", "generated")  # folders of pages that nobody writes


def pages() -> list[Path]:
    """README, and every page of the documentation that is written by hand."""
    found = sorted((ROOT / "docs").rglob("*.md"))
    return [ROOT / "README.md", *(path for path in found if not set(BUILT) & set(path.parts))]


def renewed(text: str) -> str:
    """The text of a page with every marked segment as results have it now."""

    def segment(found: re.Match[str]) -> str:
        name, newline = found["name"], found["break"]
        return f"<!-- {name} -->{newline}{SEGMENTS[name]()}{newline}<!-- /{name} -->"

    return MARKED.sub(segment, text)


def main() -> None:
    for page in pages():
        text = page.read_text()
        if renewed(text) != text:
            page.write_text(renewed(text))


if __name__ == "__main__":
    main()
