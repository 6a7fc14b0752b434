"""Predictions as lines of text, for spreadsheets and programs."""

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dplasso.storage.spreadsheet import cell, quoted

TAB, COMMA = "\t", ","
_BREAKS = re.compile(r"[\t\r\n]")


def prediction_lines(values: ArrayLike, *, raw: bool, separator: str = TAB) -> list[str]:
    """One line per prediction. Whole numbers have no decimal point, as in svmlight files.

    Unless ``raw``, a text that a spreadsheet would read as a formula is marked as text.

    >>> prediction_lines([1.0, 0.5], raw=False), prediction_lines(["=1+1"], raw=False)
    (['1', '0.5'], ["'=1+1"])
    """
    return [_shown(value, raw, separator) for value in np.asarray(values).tolist()]


def probability_lines(chances: Iterable[Iterable[float]], separator: str = TAB) -> list[str]:
    """One line per row: the probabilities of all classes."""
    return [separator.join(f"{chance:.9g}" for chance in row) for row in chances]


def one_cell(text: str, *, raw: bool, separator: str = TAB) -> str:
    """A text that stays one cell, whatever it contains.

    Between commas it is kept to the letter, in quotes where it needs them. Between tabs, line
    breaks become spaces, as not every program that reads such files knows quotes.

    >>> one_cell("Doe, Jo", raw=True, separator=","), one_cell("a\\tb", raw=True)
    ('"Doe, Jo"', 'a b')
    """
    if separator != TAB:
        return quoted(text, separator) if raw else cell(text, separator)
    whole = " ".join(text.split()) if _BREAKS.search(text) else text
    return whole if raw else cell(whole, TAB)


def label_text(label: Any) -> str:
    """A label as in svmlight files: whole numbers have no decimal point.

    >>> label_text(-1.0), label_text(0.5), label_text("yes")
    ('-1', '0.5', 'yes')
    """
    whole = isinstance(label, float) and label.is_integer()
    return str(int(label)) if whole else str(label)


def _shown(value: Any, raw: bool, separator: str) -> str:
    if isinstance(value, str):
        return one_cell(value, raw=raw, separator=separator)
    return label_text(value)
