"""The rows of a party from its own file: features within bounds, identifiers, and labels."""

from dataclasses import replace
from os import PathLike
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dplasso.reading import assemble
from dplasso.schema import Identifier, Schema

_Path = str | PathLike[str]


class PartyRows(NamedTuple):
    """Rows of one party; entries are in units of their columns' public bounds."""

    X: sp.csc_array
    identifiers: list[str]
    y: NDArray[np.float64] | None
    features: list[str]
    bounds: NDArray[np.float64]  # one per feature
    ranges: NDArray[np.float64] = np.empty((0, 2))  # low and high ends, in units of the columns
    attributes: int = 0  # columns of the table that make features

    @property
    def in_own_units(self) -> sp.csc_array:
        """The entries in units of the party's columns."""
        return sp.csc_array(self.X @ sp.diags_array(self.bounds))


def read_party(path: _Path, schema: Schema, identifier: str) -> PartyRows:
    """Read a table (CSV, Parquet). ``schema`` describes its columns, as for ``dplasso train``.

    A schema without a target reads a file without labels. Two classes become -1 and 1, in the order
    of the schema, and more of them 0, 1 and so on; other labels must be numbers. No public fact
    comes from the rows: the features are those of the schema.
    """
    # Tables need an extra, which commands about other files do without.
    from dplasso.reading.table_files.base import TableSettings
    from dplasso.reading.tables import column_texts, table_chunks

    labelled, declared = schema.target is not None, schema.labels.classes
    settings = TableSettings(schema.delimiter, schema.encoding)
    if declared is not None and len(declared) < 2:
        raise ValueError("classes must be two or more, such as no,yes")
    schema = replace(schema, columns={**schema.columns, identifier: Identifier()})
    space, chunks, classes = table_chunks(path, schema, labelled=labelled)
    X, y = assemble(chunks, space.size)
    if labelled and classes is not None:
        if declared is None:
            # Otherwise the rows would decide which labels occur, and which one is the second.
            raise ValueError(
                'labels that are texts need their classes declared: classes = ["no", "yes"]'
            )
        if len(declared) == 2:
            y = 2.0 * np.asarray(y, np.float64) - 1.0
    bounds = np.asarray(space.bounds)
    scaled = sp.csc_array(X) @ sp.diags_array(1.0 / bounds)
    names = [text.strip() for text in column_texts(path, identifier, settings)]
    if "" in names:
        raise ValueError(f"column {identifier!r} has empty cells; give every row an identifier")
    if len(set(names)) < len(names):
        raise ValueError(
            f"column {identifier!r} has repeated identifiers; merge the rows of a person first"
        )
    labels = np.asarray(y, np.float64) if labelled else None
    facts = [*space.names], bounds, space.bounds.ends(), len(space.columns)
    return PartyRows(sp.csc_array(scaled), names, labels, *facts)
