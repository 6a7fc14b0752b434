"""Rows together with facts that their reader knows and a matrix cannot hold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dplasso.base.arrays import Labels


@dataclass(frozen=True)
class DescribedRows:
    """Rows to fit to, the declared names of their columns, and which public facts were read.

    An estimator sees a matrix and not the file it came from. The reader of the file passes on the
    facts that the privacy statement must report. ``read`` has the public facts that were read from
    the data and not declared: "n_features" or "classes". ``bounds`` are those with which a table
    was read; they count where an estimator has no ``x_bound``.

    >>> import numpy as np
    >>> from dplasso import PrivateLassoClassifier
    >>> rows = DescribedRows(np.eye(2), names=["age", "weight"], read=frozenset({"n_features"}))
    >>> model = PrivateLassoClassifier(classes=[0, 1], n_rows=2, x_bound=1.0).fit(rows, [0, 1])
    >>> model.privacy_["public"]["n_features"]["source"]
    'READ FROM THE DATA'
    """

    X: object  # as an estimator takes it
    names: Sequence[str] | Labels | None = None  # of the columns, which are public
    table_plan: Mapping[str, object] | None = None  # how such rows are read from a table
    read: frozenset[str] = frozenset()
    bounds: Any = None  # of the columns, as ``x_bound``
