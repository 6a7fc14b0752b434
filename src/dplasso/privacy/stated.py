"""Check that a statement read from a file has all facts that a guarantee rests on."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dplasso.privacy.statement import PrivacyStatement
from dplasso.privacy.unit import ROW, checked_name

_KINDS: dict[str, tuple[type, ...]] = {
    "model": (str,),
    "neighboring": (str,),
    "releases": (list,),
    "bounds": (dict,),
    "public": (dict,),
    "secure_rng": (bool,),
}
_COUNTS = {"window_rows", "rows_seen", "rows_expired"}  # of streams
_EVERYTHING = ("window_rows", "all")
_NEIGHBORS = ("add_remove", "replace_one")


def check_statement(statement: PrivacyStatement, model: str, columns: int) -> None:
    """Reject a statement of another model, or one without the facts that it must have.

    The author of the file chose every value; a reader cannot tell whether they are true.
    """
    for name, kinds in _KINDS.items():
        if type(statement.get(name)) not in kinds:
            _refuse(name)
    if statement["model"] != model:
        _refuse("model")
    if statement["neighboring"] not in _NEIGHBORS:
        _refuse("neighboring")
    try:
        checked_name(statement.get("unit", ROW))
    except ValueError:
        _refuse("unit")
    if statement.get("epsilon") != "inf" and not _in_range(statement.get("epsilon"), math.inf):
        _refuse("epsilon")
    if not _in_range(statement.get("delta"), 1.0):
        _refuse("delta")
    if not all(isinstance(release, dict) for release in statement["releases"]):
        _refuse("releases")
    for release in statement["releases"]:
        theta = release.get("theta", "inf")  # as text where there is no noise
        if theta != "inf" and not _in_range(theta, math.inf):
            _refuse("theta")
    for name in _COUNTS & statement.keys():
        if type(statement[name]) is not int and (name, statement[name]) != _EVERYTHING:
            _refuse(name)
    for group in ("bounds", "public"):
        for name, known in statement[group].items():
            if not _is_fact(known):
                _refuse(f"{group} {name}")
    if statement["public"].get("n_features", {}).get("value") != columns:
        _refuse("public n_features")
    try:
        str(statement)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError("the privacy statement lacks facts that it must have") from error


def _refuse(name: str) -> None:
    raise ValueError(f"{name} of the privacy statement is missing, or not what it must be")


def _in_range(value: object, most: float) -> bool:
    return type(value) in (int, float) and 0.0 <= value <= most and math.isfinite(value)  # type: ignore[operator,arg-type]


def _is_fact(known: object) -> bool:
    if not isinstance(known, Mapping) or not isinstance(known.get("source"), str):
        return False
    return "value" in known and _is_plain(known["value"])


def _is_plain(value: Any) -> bool:
    """Whether a value is text, a finite number, None, or a list of those."""
    if isinstance(value, list):
        return all(map(_is_plain, value))
    if isinstance(value, float | np.floating):
        return math.isfinite(value)
    # Statements of earlier versions may hold numpy numbers.
    return value is None or isinstance(value, str | bool | int | np.integer)
