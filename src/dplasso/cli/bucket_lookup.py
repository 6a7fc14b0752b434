"""The features that public words and categories are hashed to."""

from typing import Any, NamedTuple

import numpy as np

from dplasso.cli.output import say, show_rows
from dplasso.data.used_columns import weights_at
from dplasso.report.features import schema_of
from dplasso.report.weights import weights_of
from dplasso.schema import FeatureSpace, Hashed, Text
from dplasso.schema.roles.category import words_of

_LISTED = 8  # names of columns in a message


class Bucket(NamedTuple):
    """A word or category, its feature, and that feature's coefficients, one per output."""

    column: str
    entry: str
    feature: str
    coefficients: list[float]


def buckets_asked(model: Any, asked: list[str]) -> list[Bucket]:
    """Return the feature of every "column=entry"; of a column of text, those of all its words.

    This reveals nothing about the rows: the hash is public, and no row is read.
    """
    if not asked:
        return []
    schema = schema_of(model)
    columns = {} if schema is None else schema.features
    hashed = [name for name, role in columns.items() if isinstance(role, Hashed)]
    if schema is None or not hashed:
        raise ValueError("--bucket needs a model trained from a table with words or categories")
    space = FeatureSpace(schema)
    found = []
    for text in asked:
        column, entry = _split(text, hashed)
        if not isinstance(space.columns[column], Text):
            found.append(_bucket(model, space, column, entry))
            continue
        words = words_of(entry)
        if not words:
            raise ValueError(
                f"--bucket {text!r} holds no word: words of column {column!r} have at least two "
                "letters or digits"
            )
        found += [_bucket(model, space, column, word) for word in words]
    return found


def show_buckets(model: Any, found: list[Bucket]) -> None:
    """Print one line per bucket, with one column per class if there are several outputs."""
    if not found:
        return
    labels = ["coefficient"]
    if len(model.intercept_) > 1:
        labels = [f"for {label}" for label in model.classes_]
    rows = [[of.column, of.entry, of.feature, *of.coefficients] for of in found]
    say()
    heads = ["column", "entry", "feature", *labels]
    show_rows("Buckets (other entries may share them)", heads, rows)


def _split(text: str, columns: list[str]) -> tuple[str, str]:
    """Split into column and entry; the name of a column may itself contain "="."""
    fitting = [name for name in columns if text.startswith(f"{name}=")]
    if not fitting:
        more = f" and {len(columns) - _LISTED} more" if len(columns) > _LISTED else ""
        known = ", ".join(map(repr, columns[:_LISTED])) + more
        raise ValueError(
            f"--bucket must be column=entry with a column of words or categories, got {text!r}; "
            f"those are {known}"
        )
    column = max(fitting, key=len)
    return column, text[len(column) + 1 :]


def _bucket(model: Any, space: FeatureSpace, column: str, entry: str) -> Bucket:
    feature = space.bucket(column, entry)
    weights = weights_at(weights_of(model), np.array([feature])).toarray()[:, 0]
    return Bucket(column, entry, str(model.feature_names_in_[feature]), weights.tolist())
