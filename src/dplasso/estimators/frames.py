"""Frames that a model of a table predicts, read by the schema of its training rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import scipy.sparse as sp

from dplasso.schema import FeatureSpace, Schema
from dplasso.schema.frame_columns import is_frame, names_of


def is_of_table(X: Any, recipe: Mapping[str, Any], features: Sequence[str] | None) -> bool:
    """Whether rows are a frame of the table's columns, rather than one of the model's features."""
    if "target" not in recipe or not is_frame(X):
        return False
    names, columns = names_of(X), list(Schema.from_dict(recipe).features)
    return names == columns or features is None or names != list(features[: len(names) + 1])


def encoded_like(recipe: Mapping[str, Any], X: Any) -> sp.csr_array:
    """The features of a frame, made as those of the training rows were."""
    from dplasso.schema.frames import encode_rows  # tables need an extra

    return encode_rows(FeatureSpace(Schema.from_dict(recipe), recipe.get("scaled", False)), X)
