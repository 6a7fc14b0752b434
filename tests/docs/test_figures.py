"""Figures in the README and on the pages of results are those that a script last wrote."""

import re
import sys
from importlib import import_module, util

import pytest
from harness import results
from PIL import Image

from doc_pages import DOCS, ROOT

_found = util.spec_from_file_location("benchmark_tables", ROOT / "benchmarks" / "tables.py")
tables = util.module_from_spec(_found)  # tests have a helper of the same name
_found.loader.exec_module(tables)

RESULTS = ROOT / "benchmarks" / "results"
PAGES = {str(page.relative_to(ROOT)): page for page in tables.pages()}
INCLUDED = re.compile(r"\{literalinclude\} \S*benchmarks/results/(\S+)")
STUDY = re.compile(
    r"^```\{benchmark\} (\w+)\n(?::files: (.*)\n)?(?::machine: (.*)\n)?", re.MULTILINE
)
DIRECTIVE = re.compile(r"^```\{benchmark\} (\w+)\n(?::files: (.*)\n)?", re.MULTILINE)


@pytest.mark.parametrize("page", list(PAGES))
def test_marked_figures_are_those_of_the_last_run(page):
    text = PAGES[page].read_text()
    assert tables.renewed(text) == text, f"run make bench-tables: {page} is out of date"


@pytest.mark.parametrize("name", sorted(tables.SEGMENTS))
def test_every_segment_that_a_script_writes_is_shown(name):
    opening = f"<!-- {name} -->"
    assert any(opening in page.read_text() for page in PAGES.values())


# Outside of marked segments, figures are no measurements: versions, years, and settings.
SETTING = re.compile(
    r"Python \d\.\d+(?:, \d\.\d+)*(?: and \d\.\d+)?|et al\., \d{4}|, \d{4}(?=\))|\bR2\b|BSD-3|"
    r"epsilon (?:nearest to )?\d+|delta is 0|length 1\b|alt=\"[^\"]*\"|width=\"\d+\""
)
FIGURE = re.compile(
    r"\d|\b(?:half|halves|thirds?|quarters?|tenths?|twice|dozens?|per cent|minutes?|hours?)\b|"
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|hundreds?|thousands?) (?:of )?times\b"
)


def unmarked(text):
    """The sentences of a page, without segments that a script writes, and without code."""
    text = tables.MARKED.sub("", text)
    text = re.sub(r"^---\n.*?^---\n", "", text, count=1, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^:.*$", "", text, flags=re.MULTILINE)  # layout of the front page
    text = re.sub(r"^( *)(`{3,}|~{3,}).*?^ *\2 *$", "", text, flags=re.MULTILINE | re.DOTALL)
    return SETTING.sub("", re.sub(r"`[^`]*`|\]\([^)]*\)", "", text))


@pytest.mark.parametrize(
    "page", [page for page in PAGES if re.match("README|docs/results/|docs/index", page)]
)
def test_no_figure_stands_outside_of_what_a_script_writes(page):
    found = [line for line in unmarked(PAGES[page].read_text()).splitlines() if FIGURE.search(line)]
    assert not found, f"{page}: a script should write these figures into a segment: {found}"


@pytest.mark.parametrize("page", list(PAGES))
def test_no_line_begins_with_a_segment_of_a_sentence(page):
    """A comment at the beginning of a line would end the paragraph."""
    assert not re.findall(r"^<!-- /?[\w-]+ -->\S.*", PAGES[page].read_text(), re.MULTILINE)


def test_a_figure_in_a_sentence_is_found():
    assert FIGURE.search(unmarked("It is 3 times as fast."))
    assert FIGURE.search(unmarked("It takes half a minute."))
    assert FIGURE.search(unmarked("It is three times as fast."))
    assert not FIGURE.search(unmarked("At epsilon 1 (Abadi et al., 2016) on Python 3.11."))


def test_a_figure_that_was_changed_by_hand_is_noticed():
    page = (DOCS / "results" / "speed.md").read_text()
    start = page.index("<!-- speed -->")
    digit = re.compile(r"\d").search(page, start)
    changed = page[: digit.start()] + str((int(digit[0]) + 1) % 10) + page[digit.end() :]
    assert tables.renewed(changed) == page != changed


@pytest.mark.parametrize("name", ["accuracy", "accuracy_front"])
def test_a_plot_of_accuracy_shows_the_numbers_that_are_saved(name):
    rows = results.saved("accuracy")["rows"]
    with Image.open(RESULTS / f"{name}.png") as plot:
        assert plot.text["Source"] == results.drawn_from(rows)["Source"], "make bench-accuracy"
    rows[0]["cells"]["default"]["mean"] += 0.001
    assert plot.text["Source"] != results.drawn_from(rows)["Source"]


def test_every_result_names_its_machine():
    pytest.importorskip("sphinx")
    sys.path.insert(0, str(DOCS / "_ext"))
    directive = import_module("benchmark")
    unnamed = set()
    for page in (DOCS / "results").glob("*.md"):
        for name, files, machine in STUDY.findall(page.read_text()):
            found = files.split() or directive.default_files(name)
            if not machine and not directive.machines_of(found):
                unnamed.add(name)
    assert not unnamed


def test_every_text_and_plot_of_the_benchmarks_is_on_a_page():
    shown = set()
    for page in PAGES.values():
        for name, files in DIRECTIVE.findall(page.read_text()):
            shown |= set(files.split() or [f"{name}.txt", f"{name}.png"])
        shown |= set(INCLUDED.findall(page.read_text()))
    written = {path.name for path in RESULTS.iterdir() if path.suffix in {".txt", ".png"}}
    assert written <= shown
