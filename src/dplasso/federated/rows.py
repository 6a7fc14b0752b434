"""The rows of a party from its own file: features within bounds, identifiers, and labels."""

from dataclasses import replace
from os import PathLike
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dplasso.reading import assemble
from dplasso.reading.plans import TablePlan

_Path = str | PathLike[str]
NO_LABELS = "\0no labels"  # no column of a file can have this name


class PartyRows(NamedTuple):
    """Rows of one party; entries are in units of their columns' public bounds."""

    X: sp.csc_array
    identifiers: list[str]
    y: NDArray[np.float64] | None
    features: list[str]
    bounds: NDArray[np.float64]  # one per feature


def read_party(path: _Path, plan: TablePlan, identifier: str) -> PartyRows:
    """Read a table (CSV, Parquet). ``plan`` describes its columns, as for ``dplasso train``.

    A plan with the target `NO_LABELS` reads a file without labels. Two classes become -1 and 1, in
    the order of the plan; other labels must be numbers. No public fact comes from the rows: the
    features are those of the plan.
    """
    # Tables need an extra, which commands about other files do without.
    from dplasso.reading.tables import column_texts, table_chunks

    labelled = plan.target != NO_LABELS
    if labelled and plan.classes is not None and len(plan.classes) != 2:
        raise ValueError("classes must be two, such as no,yes: a federation predicts one number")
    if identifier not in plan.ignore:
        plan = replace(plan, ignore=(*plan.ignore, identifier))
    space, chunks, classes = table_chunks(path, plan, labelled=labelled)
    X, y = assemble(chunks, space.size)
    if labelled and classes is not None:
        if plan.classes is None:
            # Otherwise the rows would decide which labels occur, and which one is the second.
            raise ValueError(
                'labels that are texts need their two classes declared: classes = ["no", "yes"]'
            )
        y = 2.0 * np.asarray(y, np.float64) - 1.0
    bounds = np.asarray(space.bounds)
    scaled = sp.csc_array(X) @ sp.diags_array(1.0 / bounds)
    names = [text.strip() for text in column_texts(path, identifier, plan.delimiter)]
    if "" in names:
        raise ValueError(f"column {identifier!r} has empty cells; give every row an identifier")
    if len(set(names)) < len(names):
        raise ValueError(
            f"column {identifier!r} has repeated identifiers; merge the rows of a person first"
        )
    labels = np.asarray(y, np.float64) if labelled else None
    return PartyRows(sp.csc_array(scaled), names, labels, [*space.names], bounds)
