"""What columns, outputs and numbers are called on the page."""

from typing import Any

from dplasso.report.markup import Markup, tag

LONGEST = 80  # characters of a name


def column_name(model: Any, column: int) -> str:
    """The feature's name, "column 7" where it has none; the column after the last: intercept."""
    if column == model.n_features_in_:
        return "intercept"
    names = getattr(model, "feature_names_in_", None)
    return f"column {column}" if names is None else shortened(names[column])


def output_name(model: Any, output: int) -> str | None:
    """The class an output is of, None where there is one output only."""
    return None if len(model.intercept_) == 1 else shortened(model.classes_[output])


def shortened(name: Any) -> str:
    """Beginning and end of a name that is too long.

    >>> len(shortened("x" * 1000))
    80
    """
    text = str(name)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 20]}…{text[-19:]}"


def quoted(name: str) -> Markup:
    """A name on the page: whatever its writing direction, the text around keeps its own."""
    return tag("bdi", name)


def score_text(value: float) -> str:
    """A score, with the same digits wherever the page has it.

    >>> score_text(0.64825), score_text(0.9)
    ('0.6482', '0.9000')
    """
    return number(value, ".4f")


def number(value: float, form: str = ".4g") -> str:
    """Four digits, with a minus sign that is as wide as a plus.

    >>> number(-0.123456), number(12345.0), number(1e-6)
    ('−0.1235', '12,345', '1e−06')
    """
    plain = f"{value:,.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:{form}}"
    return plain.replace("-", "−")
