"""Public facts that a fit uses: those of parameters, and where they are left out, of the rows."""

from collections.abc import Mapping
from inspect import signature
from typing import Any


def facts_left_out(model: object, facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of rows about which the parameters of an estimator say nothing."""
    known = signature(type(model)).parameters
    return {
        name: value for name, value in facts.items() if name in known and _is_usual(model, name)
    }


def declared(model: object, name: str) -> Any:
    """The value of a parameter; if it is left out, what the rows of the fit declare."""
    own = getattr(model, name)
    return vars(model)["declared_"][name] if is_of_rows(model, name) else own


def is_of_rows(model: object, name: str) -> bool:
    """Whether a fact was declared with the rows, and not as a parameter."""
    return name in vars(model).get("declared_", {}) and _is_usual(model, name)


def _is_usual(model: object, name: str) -> bool:
    """Whether a parameter has its default."""
    return getattr(model, name) is signature(type(model)).parameters[name].default
