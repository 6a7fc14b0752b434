"""All that a fitted model computes, as public numbers that any library can compute with."""

import json
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from dplasso.base import memory
from dplasso.base.arrays import Floats, Ints, Labels
from dplasso.data.bounds import ColumnBounds
from dplasso.data.centring import centred_cells
from dplasso.data.clip_limit import clip_limit
from dplasso.data.row_maps import held_bound, needs_bound
from dplasso.data.table_cells import CELL, scaled_ranges
from dplasso.data.used_columns import weights_at
from dplasso.fitting.row_reader import RowReader
from dplasso.losses.labels import LabelRange
from dplasso.privacy.statement import PrivacyStatement

Outcome = Literal["numbers", "scores", "logistic", "softmax", "one_against_rest"]
Length = Literal["max", "l2"]


@dataclass(frozen=True, eq=False)
class Centring:
    """How columns with a public range are centred, as `dplasso.data.centring` does.

    An entry x becomes ``cell * gain + shift``. Its cell is ``(x - start) / width * CELL``, rounded
    to the nearest whole number, of two the even one, and cut to 0 and ``CELL``. Arrays have one
    number for each of ``places``.
    """

    places: Ints  # of columns with a range, among those that are read; increasing
    ends: tuple[Floats, Floats]  # of the ranges, in the units of the rows as they are given
    start: Floats  # low ends, stretched
    width: Floats  # between the stretched ends; infinite where both ends meet
    divisor: float  # of the other columns, after their map

    @property
    def scales(self) -> tuple[Floats, Floats]:
        """Gain and shift of cells."""
        return centred_cells(*self.ends)

    def others(self, width: int) -> Ints:
        """Places of the columns without a range, among ``width`` columns that are read."""
        kept = np.ones(width, np.bool_)
        kept[self.places] = False
        return np.flatnonzero(kept).astype(np.int64)


@dataclass(frozen=True, eq=False)
class RowSteps:
    """What a model does with a row before it weighs it, in the order of the fields.

    Arrays have one number for each of ``columns``.
    """

    n_features: int
    columns: Ints | None  # the only columns that are read, increasing; None for all columns
    ends: tuple[Floats, Floats] | None = None  # cut to them, then less what 0 is cut to
    stretch: Floats | None = None  # multiplied
    limit: float | None = None  # clipped to minus this and this
    centring: Centring | None = None  # then the next two are of the other columns only
    row_map: str = "as_is"  # see `dplasso.data.row_maps`
    bound: float = 1.0  # of the row map "blend"
    lengths: tuple[Length, ...] = ()  # by which the row is divided, one after the other

    @property
    def width(self) -> int:
        """Number of columns that are read."""
        return self.n_features if self.columns is None else len(self.columns)

    @property
    def plain(self) -> bool:
        """Whether rows are weighed as they are."""
        changed = (self.ends, self.stretch, self.limit, self.centring)
        return (
            all(part is None for part in changed) and self.row_map == "as_is" and not self.lengths
        )

    @property
    def zeros(self) -> Floats | None:
        """What entries of 0 are cut to; None if nothing is cut."""
        return None if self.ends is None else np.clip(0.0, *self.ends)

    def words(self) -> list[str]:
        """Describe the steps in sentences."""
        others = "" if self.centring is None else " of another column"
        maps = {
            "as_is": "",
            "presence": f"Every entry{others} that is not 0 becomes 1.",
            "sqrt": f"Every entry{others} becomes the root of its absolute value, with its sign.",
            "blend": f"Every entry{others} becomes the mean of itself and {self.bound!r} with its "
            "sign.",
        }
        found = []
        if self.ends is not None:
            found.append("Entries are cut to the range of their column.")
        if self.centring is not None:
            found.append(
                "An entry x of a column with a range from low to high becomes 2 (x - low) / (high "
                "- low) - 1, after it is cut to the range; it stays x if the range is from 0 to 1, "
                f"and becomes 0 if both ends meet. It is rounded to {CELL:,} steps of the range."
            )
        if self.stretch is not None:
            found.append(
                f"Entries{others} are multiplied by the largest bound over the bound of their "
                "column."
            )
        if self.limit is not None:
            found.append(f"Entries{others} are clipped to {self.limit!r} in absolute value.")
        found.append(maps[self.row_map])
        if self.centring is not None:
            found.append(f"Entries{others} are divided by {self.centring.divisor!r}.")
        found.append("The row is divided by its 2-norm." if self.lengths else "")
        return [text for text in found if text]


@dataclass(frozen=True, eq=False)
class Portable:
    """A fitted model as public numbers: a function of releases and public facts alone."""

    steps: RowSteps
    weights: sp.csr_array  # outputs x all columns
    intercepts: Floats  # of rows after ``steps``
    outcome: Outcome
    classes: Labels | None
    label_range: LabelRange | None  # predicted numbers are clipped to it
    feature_names: Any  # one per column, perhaps made on request; None if unknown
    privacy: PrivacyStatement
    sparse_coef: bool = False
    n_iter: int = 0

    @property
    def read_weights(self) -> sp.csr_array:
        """Weights of the columns that are read: outputs x those."""
        columns = self.steps.columns
        return self.weights if columns is None else weights_at(self.weights, columns)

    @property
    def statement(self) -> dict[str, Any]:
        """The privacy statement in plain types."""
        found: dict[str, Any] = json.loads(json.dumps(self.privacy))
        return found

    @property
    def name_bytes(self) -> int:
        """Memory that it takes to write out the names of all columns."""
        made = self.feature_names is None or isinstance(self.feature_names, np.ndarray)
        return 0 if made else 80 * len(self.feature_names)

    def names_of(self, columns: Ints | None) -> Labels | None:
        """Return the names of some columns, or of all, as an array of texts, if known."""
        if self.feature_names is None:
            return None
        if columns is not None:
            return np.array([str(self.feature_names[int(j)]) for j in columns], object)
        remedy = "keep the model as it is, or fit one without names"
        memory.check(self.name_bytes, "writing out names of features", remedy)
        return np.asarray(self.feature_names)


def portable_fit(model: Any) -> Portable:
    """Describe a fitted `PrivateLassoClassifier` or `PrivateLassoRegressor`."""
    fitted = model.fitted_
    return Portable(
        steps=_steps_of(fitted.reader, fitted.weights),
        weights=fitted.weights,
        intercepts=fitted.intercepts + fitted.reader.zero_margins(fitted.weights),
        outcome=outcome_of(model, "softmax"),
        classes=getattr(model, "classes_", None),
        label_range=None,
        feature_names=getattr(model, "feature_names_in_", None),
        privacy=model.privacy_,
        sparse_coef=model.sparsified_,
        n_iter=model.n_iter_,
    )


def portable_stream(model: Any) -> Portable:
    """Describe the current weights of an online model; it does not clip what it predicts."""
    unit = model.row_map == "unit"
    weights = sp.csr_array(model.coef_)
    lengths: tuple[Length, ...] = ("max", "l2") if unit else ()
    columns = None if unit else used_columns(weights)
    return Portable(
        steps=RowSteps(model.n_features_in_, columns, lengths=lengths),
        weights=weights,
        intercepts=model.intercept_,
        outcome=outcome_of(model, "one_against_rest"),
        classes=getattr(model, "classes_", None),
        label_range=None,
        feature_names=getattr(model, "feature_names_in_", None),
        privacy=model.privacy_,
    )


def outcome_of(model: Any, several: Outcome) -> Outcome:
    """Return what margins become; ``several`` is that of more than two classes."""
    if not hasattr(model, "classes_"):
        return "numbers"
    if not hasattr(model, "predict_proba"):
        return "scores"
    return "logistic" if len(model.classes_) == 2 else several


def used_columns(weights: sp.csr_array) -> Ints:
    """Return the columns with a coefficient; the first column if there are none."""
    used = np.unique(weights.indices[weights.data != 0.0]).astype(np.int64)
    return used if len(used) else np.zeros(1, np.int64)


def _steps_of(reader: RowReader, weights: sp.csr_array) -> RowSteps:
    """Return the steps of `dplasso.fitting.row_margins`; the same order holds there."""
    if reader.plain:
        columns = used_columns(weights)
        ends = reader.ends(columns, len(columns)) if reader.cuts else None
        return RowSteps(reader.n_features, columns, ends=ends)
    read = None if reader.unit_rows else used_columns(weights)
    if reader.chosen is not None:
        read = np.unique(reader.chosen).astype(np.int64)
    # All columns that are read count in the length of a row.
    lengths: tuple[Length, ...] = ("l2",) if reader.unit_rows else ()
    if not needs_bound(reader.row_map) and not reader.centres:
        return RowSteps(reader.n_features, read, row_map=reader.row_map, lengths=lengths)
    if read is None and not isinstance(reader.x_bound, Real):
        what = f"exporting a model that reads {reader.n_features:,} columns by their bounds"
        memory.check(96 * reader.n_features, what, "keep the model as it is")
    bounds = reader.bounds(read)
    return RowSteps(
        reader.n_features,
        read,
        stretch=bounds.stretch,
        limit=clip_limit(bounds.largest),
        centring=_centring_of(bounds, reader.row_map) if reader.centres else None,
        row_map=reader.row_map,
        bound=bounds.largest,
        lengths=lengths,
    )


def _centring_of(bounds: ColumnBounds, row_map: str) -> Centring | None:
    """Return the step of `dplasso.data.row_maps.row_view` for bounds with ranges."""
    if bounds.ranges is None:
        return None
    own, columns = bounds.ranged, len(bounds.ranges)
    low, high = bounds.ends(columns)
    start, width = scaled_ranges(bounds, columns)
    divisor = held_bound(row_map, bounds.largest)
    return Centring(own, (low[own], high[own]), start[own], width[own], divisor)
