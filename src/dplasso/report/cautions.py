"""Self-contained cautions that are shown wherever the numbers of a model are shown."""

import math
from typing import Any

from dplasso.report.names import number
from dplasso.report.protects import declared_people, unit_of
from dplasso.report.weights import is_online, is_private

FEW_ROWS = 0.1  # a `weakest_signal` above which little can be found
_NOISE = (
    "Which coefficients there are, and how large, was drawn with noise: a second fit of the same "
    "rows would give others. Small ones may be chance, signs included; do not read any as an "
    "effect. Large ones may be chance, too, where few rows have the feature, or none."
)
_NOISE_OF_STREAM = (
    "Every coefficient has noise in it: a second run over the same rows would give others. Small "
    "ones may be chance, signs included; do not read any as an effect."
)


def noise(model: Any) -> str:
    """Say what coefficients do not mean; empty if no noise was drawn."""
    if not is_private(model):
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
    units, what, count = "rows", "", None
    if unit_of(model.privacy_).of_persons:
        units, what, count = "people", "all rows of ", declared_people(model)
    elif not is_online(model):
        count = model.privacy_["public"]["n_rows"]["value"]
    if not is_private(model) or count is None or delta * count <= 1.0:
        return ""
    bare = delta * count
    return (
        f"Delta should be well below 1 / {units}. Here it is {number(delta)}, with {count:,} "
        f"{units}: publishing {what}about {number(bare, '.2g' if bare < 10.0 else ',.0f')} of them "
        "outright would satisfy it too."
    )


def expired(model: Any) -> str:
    """Say which rows of a stream with a window are no longer protected; otherwise empty."""
    if not is_online(model) or not is_private(model) or model.privacy_["window_rows"] == "all":
        return ""
    window, gone = model.privacy_["window_rows"], model.privacy_["rows_expired"]
    if not gone:
        return f"Only the last {window:,} rows are. None has expired yet, but older ones will."
    return (
        f"Only the last {window:,} rows are. {gone:,} of {model.privacy_['rows_seen']:,} have "
        "expired so far: the weights may show them, and whoever has weights of several days may "
        "tell more of them still."
    )


def weakest_signal(
    theta: float, x_bound: float, rows: int, columns: int, classes: int = 2
) -> float:
    """Return the share of rows that a feature must mark to be found.

    At this share, a feature is as likely the first choice as all others together. It counts rows
    with the feature (at the bound) in one class, minus those in the other classes. The first score
    is then ``rows * share * x_bound * (1 - 1 / classes)``, and ``theta`` times it equals the log of
    the number of vertices. Above 1, no feature can be that strong.

    >>> round(weakest_signal(0.02, 1.0, 15_000, 42_000), 3)
    0.076
    """
    vertices = 2 * (1 if classes == 2 else classes) * (columns + 1)
    return math.log(vertices) / (theta * rows * x_bound * (1.0 - 1.0 / classes))


def weakest_signal_of(model: Any) -> float | None:
    """Return `weakest_signal` of a fitted classifier, from the facts in its statement.

    It is None if there is no such share: for a regressor, without privacy, or if no number of rows
    was declared or used.

    >>> from dplasso import PrivateLassoClassifier
    >>> public = {"classes": [0, 1], "n_rows": 20_000, "x_bound": 1.0}
    >>> model = PrivateLassoClassifier(**public, max_iter=40, radius=5.0)
    >>> round(weakest_signal_of(model.fit([[0.0], [1.0]], [0, 1])), 3)
    0.004
    """
    statement = model.privacy_
    rows = statement["public"]["n_rows"]["value"]
    if not statement["releases"] or rows is None or not hasattr(model, "classes_"):
        return None
    thetas = [float(part["theta"]) for part in statement["releases"] if "theta" in part]
    if not thetas:
        return None
    theta, bound = thetas[0], model.fitted_.reader.largest
    return weakest_signal(theta, bound, rows, model.n_features_in_, len(model.classes_))
