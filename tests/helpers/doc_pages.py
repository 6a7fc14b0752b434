"""The code of a page of documentation: its fenced blocks, and what is to be done with each.

Python blocks of a page run in order in one namespace, and shell blocks are bare commands; both run
in one folder. A comment right before a block changes this:

- ``<!-- file: NAME -->`` writes the block to NAME in that folder;
- ``<!-- run by tests/PATH.py -->`` says which test runs the block instead;
- ``<!-- numbers vary -->`` and the like say how a printed text is compared (printed.py).
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
GENERATED = (DOCS / "_build", DOCS / "gallery", DOCS / "reference" / "generated")

RUN = {"python", "sh"}
SHOWN = {"text", "toml", "json", "mermaid"}  # what a program prints or reads

_FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|~{3,})(?P<info>[^`]*)$")
_FILE = re.compile(r"^\s*<!-- file: (\S+) -->$")
_ELSEWHERE = re.compile(r"^\s*<!-- run by (\S+) -->$")
_COMPARED = re.compile(r"^\s*<!-- (within [\d.]+|\w+ vary|part of \S+|not printed) -->$")


@dataclass(frozen=True)
class Block:
    """One fenced block. ``line`` is the line of its first line of code, from 1."""

    language: str
    code: str
    line: int
    file: str | None = None
    elsewhere: str | None = None
    compared: str | None = None


def pages():
    """README, what it links to, and every page that is not generated."""
    found = [ROOT / "README.md", ROOT / "SECURITY.md", ROOT / "CONTRIBUTING.md"]
    written = [path for path in DOCS.rglob("*.md") if not any(map(path.is_relative_to, GENERATED))]
    return [path for path in found if path.exists()] + sorted(written)


def blocks(text):
    """The blocks of code of a page, in order. Directives (``{note}``) may contain some."""
    lines, found, directives = text.splitlines(), [], []
    position = 0
    while position < len(lines):
        match = _FENCE.match(lines[position])
        if match is None:
            position += 1
            continue
        fence, language = match["fence"], match["info"].strip()
        if not language and directives and fence.startswith(directives[-1]):
            directives.pop()
        elif language.startswith("{") and not language.startswith(("{code", "{sourcecode")):
            directives.append(fence)
        else:
            first = position + 1
            position = _end(lines, first, fence)
            code = "\n".join(_without(lines[first:position], len(match["indent"])))
            before = lines[first - 2] if first > 1 else ""
            patterns = (_FILE, _ELSEWHERE, _COMPARED)
            comments = [pattern.match(before) for pattern in patterns]
            found.append(
                Block(language, code + "\n", first + 1, *(said and said[1] for said in comments))
            )
        position += 1
    if directives:
        raise ValueError("a directive is not closed")
    return found


def _end(lines, first, fence):
    """The line that closes a block."""
    for position in range(first, len(lines)):
        if lines[position].strip().startswith(fence) and not lines[position].strip(" `~"):
            return position
    raise ValueError(f"the block of line {first} is not closed")


def _without(lines, indent):
    """Lines of a block in a list, without the indentation of the list."""
    return [line[indent:] if not line[:indent].strip() else line for line in lines]
