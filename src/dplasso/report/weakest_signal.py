"""How strong a feature must be to be found, by the facts that a classifier's statement declares."""

import math
from typing import Any

FEW_ROWS = 0.1  # a `weakest_signal` above which little can be found


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
    if "theta" not in statement["releases"][-1]:
        return None
    theta, bound = float(statement["releases"][-1]["theta"]), model.fitted_.reader.largest
    return weakest_signal(theta, bound, rows, model.n_features_in_, len(model.classes_))
