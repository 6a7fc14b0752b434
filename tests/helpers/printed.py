"""What a page shows as printed, compared with what its code prints.

A block ``text`` shows what the block of code above it prints. Line breaks do not count, since pages
are narrower than terminals. ``[...]`` stands for whatever was left out. Dates, and hashes of 16 or
more hexadecimal digits, may be any. Everything else is equal, unless a comment before the block
says what noise or a clock changes:

- ``<!-- within 0.1 -->``: each number may differ by that much;
- ``<!-- numbers vary -->``: the words are equal, and there are as many numbers;
- ``<!-- rows vary -->``: a table has as many rows with a number, and all other lines are equal;
- ``<!-- part of NAME -->``: the block is a part of this file, which the code has written;
- ``<!-- not printed -->``: the block is a drawing, or is explained by the text around it.
"""

import re

_NUMBER = r"[+-]?(?:\d+(?:,\d{3})+|\d+)(?:\.\d*)?(?:[eE][+-]?\d+)?"
_NUMBERS = re.compile(_NUMBER)
_LEFT_OUT = re.compile(r"\[\.\.\.\]|(?<!\.)\.\.\.(?!\.)")
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?(?: ?UTC|Z|\+00:00)?)?")
_HASH = re.compile(r"(?<!\.)\b[0-9a-f]{16,}\b")
_IDENTITY = re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b")
_COMPILING = re.compile(r"^compiling for the first use.*\n", re.MULTILINE)
_KIND = re.compile(
    r"^(?:equal|within (?P<within>[\d.]+)|numbers vary|rows vary|part of (?P<file>\S+))$"
)


def difference(shown: str, printed: str, kind: str | None = None) -> str | None:
    """How the text of a page differs from what was printed; None where it does not."""
    found = _KIND.match(kind or "equal")
    if found is None:
        raise ValueError(f"no comparison is called '{kind}'")
    shown, printed = _plain(shown), _plain(printed)
    if found["file"]:
        return _not_a_part(shown, printed)
    if kind == "rows vary":
        shown, printed = _rows_hidden(shown), _rows_hidden(printed)
    numbers = _NUMBERS.findall(_LEFT_OUT.sub("", shown))
    may_vary = kind == "numbers vary" or found["within"] is not None
    match = re.fullmatch(_pattern(shown, may_vary), _spaced(printed), re.DOTALL)
    if match is None:
        return f"the page shows\n{shown}\nand printed was\n{printed}"
    for one, other in zip(numbers, match.groups(), strict=False):  # none, if numbers are words
        if found["within"] and abs(_value(one) - _value(other)) > float(found["within"]):
            return f"the page shows {one}, and printed was {other} in\n{printed}"
    return None


def _plain(text: str) -> str:
    """The text without what is new in every run."""
    text = _COMPILING.sub("", text)
    for pattern, word in ((_IDENTITY, "IDENTITY"), (_HASH, "HASH"), (_DATE, "DATE")):
        text = pattern.sub(word, text)
    return text


def _spaced(text: str) -> str:
    """Words with one space between them; numpy pads the numbers of an array."""
    return re.sub(r"(?<=\[) | (?=\])", "", " ".join(text.split()))


def _pattern(shown: str, numbers_may_vary: bool) -> str:
    """A regular expression for what is shown, with a group for each number that may vary."""
    parts = []
    for part in re.split(f"({_LEFT_OUT.pattern}|{_NUMBER})", _spaced(shown)):
        if _LEFT_OUT.fullmatch(part):
            parts.append(".*?")
        elif numbers_may_vary and _NUMBERS.fullmatch(part):
            parts.append(f"({_NUMBER})")
        else:
            parts.append(re.escape(part))
    return "".join(parts)


def _rows_hidden(text: str) -> str:
    """Each line of a table that has a number is one word."""
    is_row = re.compile(rf"\S {{2,}}.*{_NUMBER}")
    return "\n".join("ROW" if is_row.search(line) else line for line in text.splitlines())


def _not_a_part(shown: str, file: str) -> str | None:
    found = {line.strip() for line in file.splitlines()}
    missing = [line for line in shown.splitlines() if line.strip() not in found]
    return f"the file has no line such as {missing[0]!r}" if missing else None


def _value(number: str) -> float:
    return float(number.replace(",", ""))
