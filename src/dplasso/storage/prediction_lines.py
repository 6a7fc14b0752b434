"""Predictions as lines of text, for spreadsheets and programs."""

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dplasso.storage.spreadsheet import cell

_BREAKS = re.compile(r"[\t\r\n]")


def prediction_lines(values: ArrayLike, *, raw: bool) -> list[str]:
    """One line per prediction. Whole numbers have no decimal point, as in svmlight files.

    Unless ``raw``, a text that a spreadsheet would read as a formula is marked as text.

    >>> prediction_lines([1.0, 0.5], raw=False), prediction_lines(["=1+1"], raw=False)
    (['1', '0.5'], ["'=1+1"])
    """
    return [_shown(value, raw) for value in np.asarray(values).tolist()]


def probability_lines(chances: Iterable[Iterable[float]]) -> list[str]:
    """One line per row: the probabilities of all classes, separated by tabs."""
    return ["\t".join(f"{chance:.9g}" for chance in row) for row in chances]


def one_cell(text: str, *, raw: bool) -> str:
    """A text that stays one cell between tabs, whatever it contains."""
    whole = " ".join(text.split()) if _BREAKS.search(text) else text
    return whole if raw else cell(whole, "\t")


def label_text(label: Any) -> str:
    """A label as in svmlight files: whole numbers have no decimal point.

    >>> label_text(-1.0), label_text(0.5), label_text("yes")
    ('-1', '0.5', 'yes')
    """
    whole = isinstance(label, float) and label.is_integer()
    return str(int(label)) if whole else str(label)


def _shown(value: Any, raw: bool) -> str:
    return one_cell(value, raw=raw) if isinstance(value, str) else label_text(value)
