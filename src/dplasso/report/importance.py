"""Importance per column of the table: how far its features can move the margin.

A column may have many features: the buckets of a category, the words of a text, a number and
whether it is missing. Its importance is the Euclidean length of their coefficients, each times the
width of the feature's public range. Lengths of different columns can be compared, and a column of
many buckets does not lead only because it has many.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dplasso.report.features import spans_of
from dplasso.report.names import column_name, output_name
from dplasso.report.scale import widths_of
from dplasso.report.weights import weights_of

MOST = 50  # columns that are listed
MOST_PARTS = 20  # features that are listed per column
_LARGEST = 1e150  # its square is finite, whatever a file holds


class Part(NamedTuple):
    """A feature of a column, the class it speaks for, its coefficient, and that times its width."""

    feature: str
    output: str | None
    coefficient: float
    reach: float


@dataclass(frozen=True)
class Importance:
    """A column, how far it can move the margin, and its features with the largest reach."""

    column: str
    size: float
    features: int  # with a coefficient that is not zero
    parts: tuple[Part, ...]


def importances(model: Any, most: int = MOST) -> list[Importance]:
    """Return the columns with a nonzero coefficient by falling importance."""
    weights = weights_of(model)
    used = weights.indices
    with np.errstate(over="ignore"):  # a file may hold any numbers
        reach = np.clip(weights.data * widths_of(model, used), -_LARGEST, _LARGEST)
    outputs = np.repeat(np.arange(weights.shape[0]), np.diff(weights.indptr))
    names, starts = spans_of(model)
    owners = used if names is None else np.searchsorted(starts, used, side="right") - 1
    kept = reach != 0.0
    columns, places = np.unique(owners[kept], return_inverse=True)
    sizes = np.sqrt(np.bincount(places, reach[kept] ** 2, len(columns)))
    features = _distinct(used[kept], places, len(columns))
    found = []
    for place in np.argsort(-sizes, kind="stable")[:most].tolist():
        inside = np.flatnonzero(kept)[places == place]
        first = inside[np.argsort(-np.abs(reach[inside]), kind="stable")][:MOST_PARTS]
        parts = tuple(
            Part(
                column_name(model, int(used[k])),
                output_name(model, int(outputs[k])),
                float(weights.data[k]),
                float(reach[k]),
            )
            for k in first.tolist()
        )
        owner = int(columns[place])
        name = column_name(model, owner) if names is None else names[owner]
        found.append(Importance(name, float(sizes[place]), int(features[place]), parts))
    return found


def _distinct(used: Any, places: Any, columns: int) -> Any:
    """Count the different features of every column: several classes may use the same."""
    pairs = np.unique(np.stack((places, used)), axis=1)
    return np.bincount(pairs[0], minlength=columns)
