"""New rows for a model, read as its training rows were."""

import copy
from pathlib import Path
from typing import Any

import numpy as np

from dplasso.cli.inputs import TABLES, Form, as_sparse, read_rows
from dplasso.cli.options import longest_line_of
from dplasso.reading.plans import TablePlan


def rows_for(
    model: Any,
    data: Path,
    *,
    zero_based: bool | None,
    labels: Path | None,
    labelled: bool,
    quiet: bool,
    longest_line: str | None = None,
) -> tuple[Any, Any]:
    """Rows, in as many columns as the model has, and their labels where they are asked for."""
    kept = getattr(model, "table_plan_", {})
    plan = TablePlan.from_dict(kept) if "target" in kept else None
    if plan is None and data.name.lower().endswith(TABLES):
        raise ValueError(
            f"{data} is a table, but the model was not trained from one; convert it as its "
            "training rows were"
        )
    if zero_based is None:
        zero_based = kept.get("zero_based", False)
    form = Form(
        columns=model.n_features_in_,
        zero_based=zero_based,
        labels=labels,
        plan=plan,
        longest_line=longest_line_of(longest_line),
    )
    found = read_rows(data, form, x_bound=None, labelled=labelled, quiet=quiet)
    if found.X.shape[1] != model.n_features_in_:
        raise ValueError(
            f"{data} has {found.X.shape[1]} columns, the model {model.n_features_in_}; give data "
            "of the same form as in training"
        )
    y = found.y
    if y is not None and hasattr(model, "classes_") and y.dtype.kind == "O":
        y = np.asarray(y, dtype=str)
    return as_sparse(found.X), y


def nameless(model: Any) -> Any:
    """The model for rows that carry no names: how they are read decides what columns mean."""
    plain = copy.copy(model)
    vars(plain).pop("feature_names_in_", None)
    return plain
