"""The target of a model and the meaning of its table features, from the model's table plan."""

import shlex
from collections.abc import Mapping
from typing import Any

import numpy as np

from dplasso.reading.plans import FeatureSpace, TablePlan
from dplasso.report.markup import Markup, join, tag
from dplasso.report.names import quoted, shortened


def plan_of(model: Any) -> Mapping[str, Any]:
    """Return the plan by which the model reads tables; empty if it was not fitted to a table."""
    plan = getattr(model, "table_plan_", {})
    return plan if "target" in plan and hasattr(model, "feature_names_in_") else {}


def target_of(model: Any) -> str | None:
    """Return the column that is predicted, if it is known."""
    plan = plan_of(model)
    return str(plan["target"]) if plan else None


def target_equals(model: Any) -> Markup:
    """Return the words before a class, such as "sick = "; empty if the target is not known."""
    target = target_of(model)
    return Markup() if target is None else join(quoted(shortened(target)), " = ")


def roles_of(model: Any) -> list[tuple[str, str, int]]:
    """Return every column of the table with its role and its number of features."""
    plan = plan_of(model)
    return list(FeatureSpace(TablePlan.from_dict(plan)).roles) if plan else []


def explained(model: Any) -> Markup:
    """Explain every kind of derived feature that the model names, with an example."""
    plan, found = plan_of(model), dict[str, Markup]()
    if not plan:
        return Markup()
    numbers = {name for name, *_ in plan["bounds"]}
    buckets = dict(plan["hashed"])
    for name in _named(model):
        column, mark, bucket = name.rpartition("#")
        if name in numbers:
            continue
        if mark and column in buckets:
            kind = "words" if column in plan.get("text", ()) else "categories"
            found.setdefault(kind, _bucket(name, column, bucket, kind, buckets[column]))
        elif name.endswith(" is missing") and name.removesuffix(" is missing") in numbers:
            found.setdefault("missing", _missing(name, name.removesuffix(" is missing")))
    if "words" in found or "categories" in found:
        found["back"] = _back(
            [name for name in _named(model) if name.rpartition("#")[0] in buckets]
        )
    return tag("p", Markup(" ".join(found.values()))) if found else Markup()


def _named(model: Any) -> list[str]:
    """Return features with a coefficient, largest first, then those that some round chose."""
    weights = model.fitted_.weights
    falling = weights.indices[np.argsort(-np.abs(weights.data), kind="stable")]
    chosen = model.vertices_[:, 0][model.vertices_[:, 0] < model.n_features_in_]
    columns = dict.fromkeys(np.concatenate((falling, chosen)).tolist())
    return [str(model.feature_names_in_[column]) for column in columns]


def _bucket(name: str, column: str, bucket: str, kind: str, count: int) -> Markup:
    return join(
        quoted(shortened(name)),
        f" is bucket {bucket} of column ",
        quoted(shortened(column)),
        f", whose {kind} are hashed into {count:,} buckets; several {kind} may share a bucket.",
    )


def _back(named: list[str]) -> Markup:
    """Explain how to find the original name of a hashed feature."""
    column = shortened(named[0].rpartition("#")[0])
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
