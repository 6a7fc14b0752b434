"""Column stores: folders that `dplasso.storage` wrote, which are memory-mapped, not loaded."""

from pathlib import Path
from typing import Any

import numpy as np

from dplasso.base.wording import ParameterError, Setting
from dplasso.reading.files import Files
from dplasso.reading.formats.base import Format, labels_of
from dplasso.reading.options import ReadingOptions, as_objects
from dplasso.reading.rows import Rows
from dplasso.schema import FeatureSpace, Schema
from dplasso.storage import ColumnStore, open_store
from dplasso.storage.column_format import damaged


class StoreFolder(Format):
    """The columns of a store already have roles; entries are clipped to ``x_bound``, if any."""

    name = "a column store"
    keeps_schema = True

    def recognises(self, path: Path) -> bool:
        return path.is_dir()

    def read(self, files: Files, options: ReadingOptions) -> Rows:
        store = open_store(files.one)
        source = store.source or {}
        schema = _schema_of(store, source)
        declared = source.get("classes_declared", False) or store.classes is None
        return Rows(
            store.matrix(options.x_bound),
            labels_of(store.labels, store.classes),
            bounds=_bounds_of(store, schema),
            names=None if store.feature_names is None else as_objects(store.feature_names),
            schema=schema,
            classes=store.classes,
            undeclared=frozenset() if declared else frozenset({"classes"}),
            zero_based=source.get("zero_based", False),
            declared_rows=source.get("rows"),
            groups=store.people,
        )

    def refuse(self, files: Files, parameter: str, taken_by: str) -> ParameterError:
        return ParameterError(
            "{parameter} has no effect on {path}, whose columns got their roles when it was "
            "converted; convert the source again",
            parameter=Setting(parameter),
            path=files,
        )


def _bounds_of(store: ColumnStore, schema: Schema | None) -> Any:
    """The bounds of a store's columns, with the ranges of its schema if it has one."""
    bounds = store.bounds
    if schema is None:
        return bounds
    planned = FeatureSpace(schema).bounds
    if bounds is None:  # all are 1
        return planned if planned.min() == planned.max() == 1.0 else bounds
    return planned if np.array_equal(planned, bounds) else bounds


def _schema_of(store: ColumnStore, source: dict[str, Any]) -> Schema | None:
    """The checked schema that a store keeps if it was made from a table."""
    schema = None
    try:
        schema = Schema.from_dict(source["plan"]) if source.get("plan") else None
        fits = schema is None or FeatureSpace(schema).size == store.shape[1]
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        fits = False
    rows = source.get("rows")
    flags = [source.get(name, False) for name in ("zero_based", "classes_declared")]
    counted = rows is None or (type(rows) is int and rows >= 1)
    if not (fits and counted and all(isinstance(flag, bool) for flag in flags)):
        raise damaged(store.path, "what it notes about its source does not fit")
    return schema
