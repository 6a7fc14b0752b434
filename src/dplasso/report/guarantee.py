"""The meaning of epsilon and delta, for readers who do not work with them."""

import math
from typing import Any

from dplasso.privacy.statement import PrivacyStatement
from dplasso.report.headline import epsilon_of
from dplasso.report.markup import Markup, folded, join, section, table, tag
from dplasso.report.names import number
from dplasso.report.weights import is_private

_PRIORS = (0.001, 0.01, 0.1, 0.5, 0.9)
_QUESTIONS = {
    "add_remove": "whether a certain row was among the data",
    "replace_one": "which of two things a certain row says",
}


def guarantee(model: Any) -> Markup:
    """Return the guarantee in plain words, and the statement to be filed."""
    statement = model.privacy_
    words = tag("p", "This model promises no privacy at all.")
    if is_private(model):
        words = _in_words(statement)
    exact = folded("The exact statement, to be filed", tag("p", statement, class_="statement"))
    return section("guarantee", "What is guaranteed", words, exact)


def posterior(prior: float, epsilon: float) -> float:
    """Return the probability whose odds are e^epsilon times those of ``prior``.

    >>> round(posterior(0.5, math.log(3.0)), 12)
    0.75
    """
    logit = math.log(prior / (1.0 - prior)) + epsilon
    if logit < 0.0:
        return math.exp(logit) / (1.0 + math.exp(logit))
    return 1.0 / (1.0 + math.exp(-logit))


def _in_words(statement: PrivacyStatement) -> Markup:
    epsilon, delta = epsilon_of(statement), statement["delta"]
    question = _QUESTIONS[statement["neighboring"]]
    return join(
        tag(
            "p",
            f"Epsilon bounds what anyone can learn about one row from {_seen(statement)}. Imagine "
            "someone who knows all the other rows and how the model was fitted, and who asks "
            f"{question}. Seeing {_it(statement)} multiplies or divides the odds of either answer "
            "by at most ",
            tag("strong", "e", tag("sup", "epsilon"), f" ≈ {_factor(epsilon)}"),
            ", whatever the row says, whatever else they know, and however much they compute.",
        ),
        tag("p", _chance(delta)),
        table(
            f"How sure they can be of an answer, given epsilon = {number(epsilon)}",
            ("Before they see the model", "After: at least", "After: at most"),
            [_row(prior, epsilon) for prior in _PRIORS],
        ),
    )


def _seen(statement: PrivacyStatement) -> str:
    """Name the releases that the guarantee covers."""
    if "window_rows" not in statement:
        return "this model"
    released = "all weights that this stream has released so far, these and every one before"
    if statement["window_rows"] == "all":
        return released
    return f"{released}, while it is one of the last {statement['window_rows']:,}"


def _it(statement: PrivacyStatement) -> str:
    return "them" if "window_rows" in statement else "the model"


def _chance(delta: float) -> str:
    if delta == 0.0:
        return "There is no delta: the bound holds always."
    return (
        f"Delta, here {number(delta)} (1 in {number(1.0 / delta)}), bounds the chance that this "
        "fails: but for a chance of that size, the fit behaves like one for which the bound always "
        "holds."
    )


def _row(prior: float, epsilon: float) -> tuple[str, str, str]:
    """Return the bounds, rounded to the safe side."""
    least = math.floor(1e4 * posterior(prior, -epsilon)) / 100
    most = math.ceil(1e4 * posterior(prior, epsilon)) / 100
    return f"{100 * prior:g} %", f"{least:.2f} %", f"{most:.2f} %"


def _factor(epsilon: float) -> str:
    """Write e^epsilon, which may be too large for a floating-point number."""
    if epsilon < 30.0:
        return number(math.exp(epsilon))
    return f"a number of {math.floor(epsilon / math.log(10.0)) + 1:,} digits"
