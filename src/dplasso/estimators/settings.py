"""Radius and rounds of a fit, fixed from public facts."""

import math
from typing import Any, NamedTuple

from dplasso.estimators import defaults
from dplasso.privacy.statement import READ


class Settings(NamedTuple):
    """Radius and rounds, what they rest on, and where each came from."""

    radius: float
    radius_source: str
    rounds: int | None  # None: until it has converged, without privacy
    rounds_source: str
    rows: int | None  # where it was used
    rows_source: str


def settings_of(
    model: Any, rows: int, columns: int, outputs: int, x_bound: float, margin_unit: float
) -> Settings:
    """As the model's parameters say, or by the public rules, whose margins are in a loss's units.

    Formal guarantees
    -----------------
    ``rows`` is used only where a rule needs it and it was not declared; the settings say so, and
    the fit reports it (`dplasso.estimators.undeclared`).
    """
    used: int | None = None
    source = "not used"
    if model.n_rows is not None or "auto" in (model.radius, model.max_iter):
        used, source = rows_used(model, rows)
    facts = (float(model.epsilon), float(model.delta), used or 0, columns, outputs)
    radius, radius_source = model.radius, "given"
    if radius == "auto":
        reach = defaults.auto_reach(*facts) * margin_unit
        radius, radius_source = reach / x_bound, "public rule"
    rounds, rounds_source = model.max_iter, "given"
    if rounds == "auto" and math.isinf(model.epsilon):
        rounds, rounds_source = None, "until converged"
    elif rounds == "auto":
        rounds, rounds_source = defaults.auto_rounds(*facts), "public rule"
    rounds = None if rounds is None else int(rounds)
    return Settings(float(radius), radius_source, rounds, rounds_source, used, source)


def rows_used(model: Any, rows: int) -> tuple[int, str]:
    """The number of rows that rules use, and where it comes from."""
    if model.n_rows is not None:
        return int(model.n_rows), "declared"
    return rows, _source_of_rows(model)


def _source_of_rows(model: Any) -> str:
    """Where the number of rows comes from when it is used and was not declared."""
    if model.neighboring == "replace_one":
        return "public by the neighbouring relation"
    return f"{READ} and treated as public"
