"""Everything that a report shows about public rows: scores, charts, and groups of rows."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dplasso.report.curve_fits import Curve
from dplasso.report.evaluation import Evaluation, evaluate
from dplasso.report.measured import measure


def examine(
    model: Any,
    X: Any,
    y: Any,
    *,
    by: Mapping[str, Sequence[str]] | None = None,
    curve: Curve | None = None,
    data_name: str = "",
) -> Evaluation:
    """Score a fitted model on public rows, and measure what the charts of a report show.

    NOT private: the result depends on the rows without noise.

    Parameters
    ----------
    model : fitted classifier or regressor
    X, y : rows and labels, which must be public
    by : dict of str to sequence of str, default=None
        Columns to group rows by, with the text of every row. Such a column need not be a feature.
    curve : Curve, default=None
        Scores of fits at other epsilons, a result of `accuracy_curve`.
    data_name : str, default=""
        Name of the rows.

    Returns
    -------
    Evaluation
        The scores of `evaluate`, with ``measured``.

    Examples
    --------
    >>> import numpy as np
    >>> from dplasso import PrivateLassoClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (500, 3))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> model = PrivateLassoClassifier(5.0, classes=[0, 1], n_rows=500, x_bound=1.0).fit(X, y)
    >>> towns = ["Ulm" if row % 4 else "Graz" for row in range(500)]
    >>> found = examine(model, X, y, by={"town": towns})
    >>> [(group.name, group.rows) for group in found.measured.subgroups[0].groups]
    [('Ulm', 375), ('Graz', 125)]
    """
    found = evaluate(model, X, y, curve=curve, data_name=data_name)
    return replace(found, measured=measure(model, X, y, by=by))
