"""The top of the page: what the model is, in numbers, and what must not be overlooked."""

import math
from typing import Any

import numpy as np

from dplasso.privacy.statement import READ, PrivacyStatement
from dplasso.report.markup import Markup, callout, join, tag
from dplasso.report.names import number, quoted, shortened

_MOST_CLASSES = 10
LARGE = 10.0  # beyond this epsilon a promise means little


def headline(model: Any, title: str) -> Markup:
    """Title, kind of model, the numbers, and warnings."""
    kind = tag("p", *_kind(model), class_="kind")
    return tag("header", tag("h1", quoted(title)), kind, _numbers(model), _warnings(model.privacy_))


def epsilon_of(statement: PrivacyStatement) -> float:
    return float(statement["epsilon"])


def read_from_data(statement: PrivacyStatement) -> list[str]:
    """Facts that the guarantee does not cover because they were read, not declared."""
    facts = {**statement["bounds"], **statement["public"]}
    return [name for name, known in facts.items() if READ in known["source"]]


def nonzeros(model: Any) -> int:
    return int(np.count_nonzero(model._weights.data))


def _kind(model: Any) -> list[Any]:
    name = tag("code", type(model).__name__)
    if not hasattr(model, "classes_"):
        return [name, ": a sparse linear model that predicts a number."]
    labels = [quoted(shortened(label)) for label in model.classes_[:_MOST_CLASSES]]
    more = len(model.classes_) - len(labels)
    model_kind = "logistic" if len(model.classes_) == 2 else "softmax"
    return [
        name,
        f": a sparse {model_kind} model that tells {len(model.classes_)} classes apart: ",
        Markup(", ".join(labels)),
        f" and {more} more." if more else ".",
    ]


def _numbers(model: Any) -> Markup:
    statement = model.privacy_
    epsilon = epsilon_of(statement)
    private = math.isfinite(epsilon)
    shown = {
        "Epsilon": number(epsilon) if private else "∞",
        "Delta": number(statement["delta"]) if private else "–",
        "Nonzero coefficients": f"{nonzeros(model):,}",
        "Rounds" if len(model.vertices_) else "Steps": f"{model.n_iter_:,}",
        "Columns": f"{model.n_features_in_:,}",
    }
    cards = (tag("div", tag("dt", name), tag("dd", value)) for name, value in shown.items())
    return tag("dl", *cards, class_="numbers")


def _warnings(statement: PrivacyStatement) -> Markup:
    if math.isinf(epsilon_of(statement)):
        return callout(
            "danger",
            "NOT PRIVATE.",
            "This model was fitted with epsilon = infinity. It may reveal any row of its data: "
            "treat it as you treat the data.",
        )
    found = []
    if not statement["secure_rng"]:
        found.append(
            callout(
                "danger",
                "NOT SECURE: fitted with a given seed or generator.",
                "Whoever knows it can undo the protection. This fit is for tests only; "
                "do not publish it.",
            )
        )
    read = read_from_data(statement)
    if read:
        found.append(
            callout(
                "warning",
                f"{READ}: {', '.join(read)}.",
                "The guarantee does not cover what was read and not declared.",
            )
        )
    if epsilon_of(statement) > LARGE:
        found.append(
            callout("warning", "A large epsilon.", "The bound below is true, but promises little.")
        )
    return join(*found)
