"""Hints how to mend a cell that is not what it should be. They say its kind, never its value."""

import re
from collections.abc import Sequence

_SIGNED = r"\s*[-+]?"
# The first kind that a text has is named; remedies do not quote it.
_KINDS = {
    rf"{_SIGNED}(?:\d+,\d{{1,2}}|[\d.\s']+,\d+)\s*": "write a decimal point, not a comma",
    rf"{_SIGNED}\d{{1,3}}(?:[,'\s]\d{{3}})+(?:\.\d+)?\s*": "leave out separators of thousands",
    rf"{_SIGNED}[\d.,]+\s*%\s*": "write the number without a percent sign",
    r"\s*\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[T\s].*)?": (
        "write the date as a number, such as an age or a count of days"
    ),
    r"\s*\d{1,2}:\d{2}(?::\d{2})?.*": "write the time as a number, such as minutes",
    r"\s*[$€£¥]\s*[-+\d.,]+\s*|[-+\d.,]+\s*[$€£¥]\s*": "leave out the currency sign",
    r"\s*[<>≤≥~]=?\s*[\d.,]+\s*": "write the number without a sign before it",
    r"[-+\d.,]+\s*[^\W\d_]+\s*": "write the number without its unit",
}


def number_hint(text: str) -> str:
    """What to do about a text that is no number.

    >>> number_hint("1,5"), number_hint("12%")
    ('write a decimal point, not a comma', 'write the number without a percent sign')
    >>> number_hint("<= 0.5")
    'write the number without a sign before it'
    """
    found = (remedy for pattern, remedy in _KINDS.items() if re.fullmatch(pattern, text))
    return next(found, "mend or ignore it")


def class_hint(label: str, classes: Sequence[str]) -> str:
    """What to do about a label that is not among the classes.

    >>> class_hint("Yes ", ["no", "yes"])
    'it differs from one of them in spaces or capitals alone; write both alike'
    """
    if _plain(label) in map(_plain, classes):
        return "it differs from one of them in spaces or capitals alone; write both alike"
    return "declare it"


def _plain(text: str) -> str:
    return "".join(text.split()).casefold()
