"""The target of a model and the meaning of its table features, from the model's schema."""

import shlex
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplasso.report.markup import Markup, join, tag
from dplasso.report.names import quoted, shortened
from dplasso.schema import FeatureSpace, Hashed, Role, Schema, Text


def schema_of(model: Any) -> Schema | None:
    """Return the schema by which the model reads tables; None if it was not fitted to a table."""
    plan = getattr(model, "table_plan_", {})
    known = "target" in plan and hasattr(model, "feature_names_in_")
    return Schema.from_dict(plan) if known else None


def target_of(model: Any) -> str | None:
    """Return the column that is predicted, if it is known."""
    schema = schema_of(model)
    return None if schema is None else schema.target


def target_equals(model: Any) -> Markup:
    """Return the words before a class, such as "sick = "; empty if the target is not known."""
    target = target_of(model)
    return Markup() if target is None else join(quoted(shortened(target)), " = ")


def roles_of(model: Any) -> list[tuple[str, str, int]]:
    """Return every column of the table with its role and its number of features."""
    schema = schema_of(model)
    return [] if schema is None else list(FeatureSpace(schema).roles)


def spans_of(model: Any) -> tuple[list[str] | None, NDArray[np.int64]]:
    """Return the columns of the table in order, and the first feature of each.

    Without a table there are no names: every feature is a column of its own.
    """
    schema = schema_of(model)
    if schema is None:
        return None, np.empty(0, np.int64)
    starts = FeatureSpace(schema).starts
    return list(starts), np.array(list(starts.values()), np.int64)


def explained(model: Any) -> Markup:
    """Explain every kind of derived feature that the model names, with an example."""
    schema, found = schema_of(model), dict[str, Markup]()
    if schema is None:
        return Markup()
    hashed = None
    for name, column, role in _sources(model, FeatureSpace(schema)):
        if isinstance(role, Hashed):
            kind = "words" if isinstance(role, Text) else "categories"
            bucket = name.rpartition("#")[2]
            found.setdefault(kind, _bucket(name, column, bucket, kind, role.size))
            hashed = hashed or column
        elif name == f"{column} is missing":
            found.setdefault("missing", _missing(name, column))
    if hashed is not None:
        found["back"] = _back(hashed)
    return tag("p", Markup(" ".join(found.values()))) if found else Markup()


def _sources(model: Any, space: FeatureSpace) -> Iterator[tuple[str, str, Role]]:
    """Yield the features that the model names, each with its column and that column's role."""
    columns, firsts = list(space.starts), list(space.starts.values())
    for feature in _named(model):
        column = columns[bisect_right(firsts, feature) - 1]
        yield str(model.feature_names_in_[feature]), column, space.columns[column]


def _named(model: Any) -> list[int]:
    """Return features with a coefficient, largest first, then those that some round chose."""
    weights = model.fitted_.weights
    falling = weights.indices[np.argsort(-np.abs(weights.data), kind="stable")]
    chosen = model.vertices_[:, 0][model.vertices_[:, 0] < model.n_features_in_]
    return list(dict.fromkeys(np.concatenate((falling, chosen)).tolist()))


def _bucket(name: str, column: str, bucket: str, kind: str, count: int) -> Markup:
    return join(
        quoted(shortened(name)),
        f" is bucket {bucket} of column ",
        quoted(shortened(column)),
        f", whose {kind} are hashed into {count:,} buckets; several {kind} may share a bucket.",
    )


def _back(column: str) -> Markup:
    """Explain how to find the original name of a feature of a hashed column."""
    column = shortened(column)
    return join(
        "The model holds no words: to turn such names back, take a public list and ask which "
        "bucket each of its entries is in, with ",
        tag("code", f"dplasso inspect model.dpl --bucket {shlex.quote(f'{column}=entry')}"),
        ".",
    )


def _missing(name: str, column: str) -> Markup:
    return join(
        quoted(shortened(name)),
        " is 1 in rows whose cell of column ",
        quoted(shortened(column)),
        " is blank, and 0 in the others.",
    )
