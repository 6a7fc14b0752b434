"""Self-contained cautions that are shown wherever the numbers of a model are shown."""

import math
from typing import Any

from dplasso.report.names import number
from dplasso.report.weakest_signal import FEW_ROWS, weakest_signal_of
from dplasso.report.weights import is_online

_NOISE = (
    "Which coefficients there are, and how large, was drawn with noise: a second fit of the same "
    "rows would give others. Small ones may be chance, signs included; do not read any as an "
    "effect."
)
_NOISE_OF_STREAM = (
    "Every coefficient has noise in it: a second run over the same rows would give others. Small "
    "ones may be chance, signs included; do not read any as an effect."
)


def noise(model: Any) -> str:
    """Say what coefficients do not mean; empty if no noise was drawn."""
    if not _private(model):
        return ""
    return _NOISE_OF_STREAM if is_online(model) else _NOISE


def few_rows(model: Any) -> str:
    """Say that only the strongest features can have been found; empty if there are enough rows."""
    share = None if is_online(model) else weakest_signal_of(model)
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
    """Say that delta is too large for meaningful privacy; empty if it is not."""
    delta = model.privacy_["delta"]
    rows = None if is_online(model) else model.privacy_["public"]["n_rows"]["value"]
    if not _private(model) or rows is None or delta * rows <= 1.0:
        return ""
    return (
        f"Delta should be well below 1 / rows. Here it is {number(delta)}, with {rows:,} rows: "
        f"publishing about {number(delta * rows, '.2g')} of them outright would satisfy it too."
    )


def expired(model: Any) -> str:
    """Say which rows of a stream with a window are no longer protected; otherwise empty."""
    if not is_online(model) or not _private(model) or model.privacy_["window_rows"] == "all":
        return ""
    window, gone = model.privacy_["window_rows"], model.privacy_["rows_expired"]
    if not gone:
        return f"Only the last {window:,} rows are. None has expired yet, but older ones will."
    return (
        f"Only the last {window:,} rows are. {gone:,} of {model.privacy_['rows_seen']:,} have "
        "expired so far: the weights may show them, and whoever has weights of several days may "
        "tell more of them still."
    )


def _private(model: Any) -> bool:
    return math.isfinite(float(model.privacy_["epsilon"]))
