"""What must be said of a model wherever its numbers are shown, in words that need no others."""

import math
from typing import Any

from dplasso.estimators.defaults import FEW_ROWS, weakest_signal_of
from dplasso.report.names import number

_NOISE = (
    "Which coefficients there are, and how large, was drawn with noise: a second fit of the same "
    "rows would give others. Small ones may be chance, signs included; do not read any as an "
    "effect."
)


def noise(model: Any) -> str:
    """What coefficients are not; nothing where no noise was drawn."""
    return _NOISE if _private(model) else ""


def few_rows(model: Any) -> str:
    """Where only the strongest features can have been found; else nothing."""
    share = weakest_signal_of(model)
    if share is None or share <= FEW_ROWS:
        return ""
    if share >= 1.0:
        return (
            "With so few rows at this epsilon no feature can be expected to stand out from the "
            "noise: most of what the model holds may be chance."
        )
    return (
        "With so few rows at this epsilon the model can only be expected to have found features "
        f"that separate at least {100 * share:.0f} % of all rows; much of what it holds may "
        "be noise."
    )


def loose_delta(model: Any) -> str:
    """Where delta allows what nobody would call private; else nothing."""
    rows, delta = model.privacy_["public"]["n_rows"]["value"], model.privacy_["delta"]
    if not _private(model) or rows is None or delta * rows <= 1.0:
        return ""
    return (
        f"Delta should be well below 1 / rows. Here it is {number(delta)}, with {rows:,} rows: "
        f"publishing about {number(delta * rows, '.2g')} of them outright would satisfy it too."
    )


def _private(model: Any) -> bool:
    return math.isfinite(float(model.privacy_["epsilon"]))
