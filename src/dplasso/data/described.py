"""Rows together with facts that their reader knows and a matrix cannot hold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dplasso.base.arrays import Labels

ABOUT_PEOPLE = ("n_people", "rows_per_person", "person")


@dataclass(frozen=True)
class DescribedRows:
    """Rows to fit to, the declared names of their columns, and which public facts were read.

    An estimator sees a matrix and not the file it came from. The reader of the file passes on the
    facts that the privacy statement must report. ``read`` has the public facts that were read from
    the data and not declared: "n_features" or "classes". ``bounds`` are those with which a table
    was read; they count where an estimator has no ``x_bound``. ``facts`` are other public facts
    that were declared with the rows, by the names of an estimator's parameters; they count where
    these are left out.

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
    groups: Any = None  # identifiers of people, one per row, if people are to be protected
    facts: Mapping[str, Any] = field(default_factory=dict)  # such as "n_rows" and "y_bound"

    def with_groups(self, groups: object) -> "DescribedRows":
        """The same rows of other people, to whom what is known of these does not apply."""
        if groups is self.groups:
            return self
        kept = {name: value for name, value in self.facts.items() if name not in ABOUT_PEOPLE}
        return replace(self, groups=groups, facts=kept)
