"""Rows together with facts that their reader knows and a matrix cannot hold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dplasso.base.arrays import Labels


@dataclass(frozen=True)
class DescribedRows:
    """Rows to fit to, the declared names of their columns, and which public facts were read.

    An estimator sees a matrix and not the file it came from. The reader of the file passes on the
    facts that the privacy statement must report.

    Parameters
    ----------
    X : object
        The rows, as an estimator takes them.
    names : sequence of str, optional
        Names of the columns, which are public.
    table_plan : mapping, optional
        How rows like these are read from a table; the fitted model keeps it.
    read : frozenset of str, default empty
        Public facts that were read from the data and not declared: "n_features" or "classes".

    Examples
    --------
    >>> import numpy as np
    >>> from dplasso import PrivateLassoClassifier
    >>> rows = DescribedRows(np.eye(2), names=["age", "weight"], read=frozenset({"n_features"}))
    >>> model = PrivateLassoClassifier(classes=[0, 1], n_rows=2, x_bound=1.0).fit(rows, [0, 1])
    >>> model.privacy_["public"]["n_features"]["source"]
    'READ FROM THE DATA'
    """

    X: object
    names: Sequence[str] | Labels | None = None
    table_plan: Mapping[str, object] | None = None
    read: frozenset[str] = frozenset()
