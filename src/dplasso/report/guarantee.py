"""The meaning of epsilon and delta, for readers who do not work with them."""

import math
from typing import Any

from dplasso.privacy.statement import PrivacyStatement
from dplasso.report.headline import epsilon_of
from dplasso.report.markup import Markup, folded, join, section, table, tag
from dplasso.report.names import number
from dplasso.report.protects import unit_of
from dplasso.report.weights import is_private

_PRIORS = (0.001, 0.01, 0.1, 0.5, 0.9)
_QUESTIONS = {
    ("row", "add_remove"): "whether a certain row was among the data",
    ("row", "replace_one"): "which of two things a certain row says",
    ("person", "add_remove"): "whether a certain person was among the data, with all their rows",
    ("person", "replace_one"): "which of two sets of rows a certain person has",
}
_OTHERS = {"row": "all the other rows", "person": "the rows of all other people"}
_SUBJECTS = {"row": "one row", "person": "one person"}
_WHATEVER = {"row": "whatever the row says", "person": "whatever the rows of that person say"}


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
    kind = unit_of(statement).kind
    question = _QUESTIONS[kind, statement["neighboring"]]
    return join(
        tag(
            "p",
            f"Epsilon bounds what anyone can learn about {_SUBJECTS[kind]} from "
            f"{_seen(statement)}. Imagine someone who knows {_OTHERS[kind]} and how the model was "
            f"fitted, and who asks {question}. Seeing {_it(statement)} multiplies or divides the "
            "odds of either answer by at most ",
            tag("strong", "e", tag("sup", "epsilon"), f" ≈ {_factor(epsilon)}"),
            f", {_WHATEVER[kind]}, whatever else they know, and however much they compute.",
        ),
        tag("p", _chance(delta)),
        table(
            f"How sure they can be of an answer, given epsilon = {number(epsilon)}",
            ("Before they see the model", "After: at least", "After: at most"),
            [_row(*belief) for belief in beliefs(epsilon)],
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


def beliefs(epsilon: float) -> list[tuple[float, float, float]]:
    """Return how sure someone is before, and at least and at most after, to the safe side."""
    return [
        (
            prior,
            math.floor(1e4 * posterior(prior, -epsilon)) / 1e4,
            math.ceil(1e4 * posterior(prior, epsilon)) / 1e4,
        )
        for prior in _PRIORS
    ]


def _row(prior: float, least: float, most: float) -> tuple[str, str, str]:
    return f"{100 * prior:g} %", f"{100 * least:.2f} %", f"{100 * most:.2f} %"


def _factor(epsilon: float) -> str:
    """Write e^epsilon, which may be too large for a floating-point number."""
    if epsilon < 30.0:
        return number(math.exp(epsilon))
    return f"a number of {math.floor(epsilon / math.log(10.0)) + 1:,} digits"
