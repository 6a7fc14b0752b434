"""Mark texts so that no spreadsheet reads them as formulas.

A spreadsheet reads a cell that begins with = + - @ as a formula, and a formula can read other cells
and send them elsewhere. Such a text gets an apostrophe in front, which marks it as text.
"""

import re

_SIGNS = "=+\\-@＝＋－＠"  # full-width signs start formulas as well
_FORMULA = re.compile(rf"'*(?:\s*[{_SIGNS}]|[\t\r\n])")
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
# A spreadsheet may guess another separator, and would then find a formula after it.
_SPLIT = re.compile(rf"[\"\t\r\n]|[,;|]\s*'*[{_SIGNS}]")


def marked(text: str) -> str:
    """The text, with an apostrophe in front if it would be a formula; numbers are not marked.

    Different texts stay different: a text that looks marked already is marked once more.

    >>> marked("=1+1"), marked("-5.5"), marked("'=1"), marked("Ulm")
    ("'=1+1", '-5.5', "''=1", 'Ulm')
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def unmarked(text: str) -> str:
    """The text that `marked` was given.

    >>> unmarked("'=1+1"), unmarked("'tis"), unmarked("-5.5")
    ('=1+1', "'tis", '-5.5')
    """
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def cell(text: str, separator: str) -> str:
    """The text as a cell: marked, and quoted if it would otherwise be more than one cell.

    >>> cell("=1", ","), cell("Doe, Jo", ","), cell("Doe, Jo", "\\t"), cell("a,=1", "\\t")
    ("'=1", '"Doe, Jo"', 'Doe, Jo', '"a,=1"')
    """
    return quoted(marked(text), separator)


def quoted(text: str, separator: str) -> str:
    """The text in quotes, if it would otherwise be more than one cell.

    >>> quoted("Doe, Jo", ","), quoted("=1", ","), quoted('5" x', ",")
    ('"Doe, Jo"', '=1', '"5"" x"')
    """
    if separator not in text and not _SPLIT.search(text):
        return text
    doubled = text.replace('"', '""')
    return f'"{doubled}"'
