"""Names of columns and outputs, and the form of numbers, on the page."""

from typing import Any

from dplasso.report.markup import Markup, tag

LONGEST = 80  # characters that a name may have


def column_name(model: Any, column: int) -> str:
    """Name of a feature, or "column 7" without a name; after the last column is the intercept."""
    if column == model.n_features_in_:
        return "intercept"
    names = getattr(model, "feature_names_in_", None)
    return f"column {column}" if names is None else shortened(names[column])


def output_name(model: Any, output: int) -> str | None:
    """Return the class of an output, or None if there is only one output."""
    return None if len(model.intercept_) == 1 else shortened(model.classes_[output])


def shortened(name: Any) -> str:
    """Shorten a name that is too long to its beginning and end.

    >>> len(shortened("x" * 1000))
    80
    """
    text = str(name)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 20]}…{text[-19:]}"


def quoted(name: str) -> Markup:
    """Return a name as markup that keeps its writing direction apart from the text around it."""
    return tag("bdi", name)


def score_text(value: float) -> str:
    """Write a score with the same number of digits everywhere on the page.

    >>> score_text(0.64825), score_text(0.9)
    ('0.6482', '0.9000')
    """
    return number(value, ".4f")


def number(value: float, form: str = ".4g") -> str:
    """Write a number with four digits, and a minus sign that is as wide as a plus.

    >>> number(-0.123456), number(12345.0), number(1e-6), number(8926.4, "#.4g")
    ('−0.1235', '12,345', '1e−06', '8926')
    """
    plain = f"{value:,.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:{form}}"
    return plain.rstrip(".").replace("-", "−")
