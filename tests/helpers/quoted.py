"""Figures that a page quotes from a result: those of a text that names the file or its script.

A paragraph, an item of a list or a row of a table is one text. A table whose rows name no result
has those of the paragraph before it, or else after it. What is measured has a decimal point or a
unit; what is set (an epsilon, a name in code) is no quotation. A figure is quoted rightly if the
result has a number that rounds to it, and a row of figures if one line of the result has them all.
Differences and ratios are therefore quoted only if a script writes them.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from doc_pages import DOCS, ROOT

RESULTS = ROOT / "benchmarks" / "results"

_FENCED = re.compile(r"^( *)(`{3,}|~{3,})(?!\{).*?^ *\2 *$", re.MULTILINE | re.DOTALL)
_NEXT = re.compile(r"\n\s*\n|\n(?= *(?:- |\d+\. |\|))")
_NAMED = re.compile(r"(?:benchmarks/(?:results/)?|`)(\w+)\.(?:py|txt|json|png)\b")
_PAGE = re.compile(r"\]\((?:\.\./)?(?:docs/)?results/(\w+)\.md")
_SHOWN = re.compile(r"^```\{benchmark\} (\w+)\n(?::files: (.*)\n)?", re.MULTILINE)
_CODE = re.compile(r"`[^`]*`|\]\([^)]*\)")
_WRITTEN = re.compile(r"<!-- ([\w-]+) -->.*?<!-- /\1 -->", re.DOTALL)

_WORD = re.compile(r"\w+")
_SETS = {row["set"] for row in json.loads((RESULTS / "accuracy.json").read_text())["rows"]}

_WHOLE = r"\d{1,3}(?:,\d{3})+|\d+"
_NUMBER = re.compile(rf"(?:(?:{_WHOLE})(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?")
_NUMERIC = re.compile(r"[\d\s.,/()*%±e+-]*\d[\d\s.,/()*%±e+-]*")
_UNIT = r"\s?(?:%|times\b|points\b|ms\b|s\b|seconds?\b|[kMG]i?B\b)"
_FIGURE = re.compile(
    rf"(?<![\w.,^/-])[+-]?((?:{_WHOLE})?\.\d+(?:e[+-]?\d+)?|\d+(?:\.\d+)?e-\d+|(?:{_WHOLE})(?={_UNIT}))"
    r"(?![\w^])"
)
_VALUE = r"[\d.]+(?:e-\d+)?"
_SETTING = re.compile(
    r"(?:[ Ee]psilon|ε|\$\\varepsilon\$|delta|δ|μ|radius|Python)(?: (?:=|of|from))? "
    rf"{_VALUE}(?:(?:,| and| or| /| to) {_VALUE}(?!\s?[%\w]))*"
)


@dataclass(frozen=True)
class Quotation:
    """A text with figures, and the results that it names."""

    text: str
    results: frozenset[str]

    def wrong(self) -> list[str]:
        """The figures that none of the results has."""
        lines = [_values(line) for name in self.results for line in _lines(name, self.text)]
        known = [value for line in lines for value in line]
        wrong = [figure for figure in figures(self.text) if not _is_known(figure, known)]
        row = _row(self.text)
        is_a_line = any(all(_is_known(figure, line) for figure in row) for line in lines)
        return wrong or ([] if is_a_line else row)


def quotations(page: str) -> list[Quotation]:
    """The texts of a page that name results."""
    texts = [text for text in _NEXT.split(_FENCED.sub("", _WRITTEN.sub("", page))) if text.strip()]
    named = [_results(text) for text in texts]
    for first, last in _tables(texts):
        if any(named[first:last]):
            continue
        before, after = named[first - 1 : first], named[last : last + 1]
        shared = (before and before[0]) or (after and after[0]) or set()
        named[first:last] = [shared] * (last - first)
    return [
        Quotation(text, frozenset(names)) for text, names in zip(texts, named, strict=True) if names
    ]


def figures(text: str) -> list[str]:
    """What is measured in a text."""
    return _FIGURE.findall(_SETTING.sub("", _CODE.sub("", text)))


def _tables(texts: list[str]) -> list[tuple[int, int]]:
    """First row and the end of every table."""
    rows = [text.lstrip().startswith("|") for text in texts] + [False]
    starts = [k for k, is_row in enumerate(rows) if is_row and not rows[k - 1]]
    return [(start, rows.index(False, start)) for start in starts]


def _results(text: str) -> set[str]:
    """The results that a text names, by their files, scripts or pages."""
    found = set(_NAMED.findall(text))
    for page in _PAGE.findall(text):
        for name, files in _SHOWN.findall((DOCS / "results" / f"{page}.md").read_text()):
            found |= {Path(file).stem for file in files.split()} or {name}
    return {name for name in found if _file(name) is not None}


def _file(name: str) -> Path | None:
    places = [RESULTS / f"{name}{ending}" for ending in (".txt", ".json")]
    return next((place for place in places if place.exists()), None)


def _row(text: str) -> list[str]:
    """The numbers of a row's cells that hold nothing else, and no list; more than one, or none."""
    cells = text.strip().strip("|").split("|") if text.lstrip().startswith("|") else []
    found = [
        number
        for cell in cells
        if _NUMERIC.fullmatch(cell) and ", " not in cell
        for number in _NUMBER.findall(cell)
    ]
    return found if len(found) > 1 else []


def _lines(name: str, text: str) -> list[str]:
    """The lines of a result: those of the sets in the text, if most lines begin with a set."""
    lines = [line for line in _file(name).read_text().splitlines() if line.strip()]
    sets = [line.split()[0] if line.split()[0] in _SETS else None for line in lines]
    in_text = _SETS.intersection(_WORD.findall(text))
    if len(lines) > 2 * sets.count(None) and in_text.intersection(sets):
        return [line for line, of in zip(lines, sets, strict=True) if of in in_text]
    return lines


def _values(line: str) -> list[float]:
    return [_value(number) for number in _NUMBER.findall(line)]


def _value(number: str) -> float:
    return float(number.replace(",", ""))


def _is_known(figure: str, known: list[float]) -> bool:
    """Some number rounds to the figure; a share may be written in per cent."""
    digits, _, power = figure.partition("e")
    scale = 10.0 ** int(power or 0)
    rounding = 0.5 * scale * 10.0 ** -len(digits.partition(".")[2]) * (1 + 1e-9)
    value = _value(figure)
    return any(min(abs(one - value), abs(100 * one - value)) <= rounding for one in known)
