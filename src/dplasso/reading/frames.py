"""Frames as rows, in the way that files with the same cells are read."""

from typing import Any

from dplasso.base.wording import ParameterError, Setting
from dplasso.data.row_chunks import assemble
from dplasso.reading.formats.base import labels_of
from dplasso.reading.options import ReadingOptions
from dplasso.reading.rows import Rows
from dplasso.schema import FeatureSpace, Schema
from dplasso.schema.frame_columns import frame_rows, names_of
from dplasso.schema.unmatched import watched


def read_frame(frame: Any, options: ReadingOptions) -> Rows:
    """Read the rows of a frame; a schema must say how."""
    # Tables need an extra, which commands about other files do without.
    from dplasso.schema.frames import encode_frame

    names_of(frame)  # rejects anything but a frame
    if options.schema is None and options.known is None:
        raise ParameterError("a frame needs {schema}, which gives its columns their roles")
    schema = options.table_plan(None)
    assert isinstance(schema, Schema)
    if not frame_rows(frame):
        raise ParameterError("the frame has no rows; give at least one")
    space = FeatureSpace(schema, options.scaled)
    labelled = options.labelled and schema.target is not None
    if labelled:
        _check_labelled(schema, names_of(frame))
    (chunk,) = watched(space, [encode_frame(space, frame, labelled)])
    X, y = assemble([chunk], space.size)
    classes = None if schema.labels.classes is None else list(schema.labels.classes)
    return Rows(
        X,
        labels_of(y, classes) if labelled else None,
        bounds=space.bounds,
        names=space.names,
        schema=schema,
        classes=classes,
        declared_rows=schema.n_rows,
        groups=chunk.people,
        scaled=options.scaled,
    )


def _check_labelled(schema: Schema, names: list[str]) -> None:
    """Reject a frame that lacks what only rows to learn from have."""
    for name in (schema.target, schema.person):
        if name is not None and name not in names:
            raise ParameterError(
                "{X} has no column {name!r}, which the schema names; add it, or pass {without} to "
                "read rows without labels",
                name=name,
                without=Setting("labelled", False),
            )
