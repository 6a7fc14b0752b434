"""The public numbers on which a guarantee rests, and plain formulae that all fits share.

They are written in numpy: rows and labels as a fit should hold them, the gradients of the losses,
and the law of a released bound. The product is compared with them.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from dplasso.audit.account import mu_for, rho_for
from dplasso.base.arrays import Floats, Ints

# Losses for which the audit has its own formulae.
LOGISTIC, SOFTMAX, SQUARED = "logistic", "softmax", "squared"
# Function from margins, ... x rows x 1, and labels to row gradients of that shape.
Slope = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]
AS_IS, PRESENCE, SQRT, BLEND = "as_is", "presence", "sqrt", "blend"
_CELLS = 2.0**24  # parts of a range in which entries are held
NOBODY = -1  # the person of rows without an identifier


class Table(NamedTuple):
    """Rows, labels, and the person of each row; None if every row is somebody else's."""

    X: Floats
    y: Floats
    people: Ints | None = None


@dataclass(frozen=True, kw_only=True)
class Claim:
    """The promise, and the labels it is about. Nothing here comes from the product's account.

    ``slope`` is the gradient of any other loss, as its file states it in plain numpy: not the
    compiled gradient, which is audited. It is None where the audit has its own formula.
    """

    loss: str
    slope: Slope | None = None
    outputs: int
    epsilon: float
    delta: float
    neighboring: str
    y_bound: float  # largest distance of labels from their public middle
    y_middle: float = 0.0
    unit: str = "row"  # whom the promise protects, as statements and charges name it
    rows_per_person: int = 1  # as how many rows one of them counts at most
    class_weights: NDArray[np.float64] | None = None  # None if rows of all classes count the same
    shown: ClassVar[tuple[str, ...]] = (
        *("loss", "outputs", "epsilon", "delta", "neighboring"),
        *("unit", "rows_per_person"),
    )

    @property
    def of_people(self) -> bool:
        """Whether people are protected, who may have several rows."""
        return self.unit != "row"

    @property
    def classes(self) -> int:
        """Number of classes; 0 where labels are numbers."""
        return 0 if self.loss == SQUARED else max(self.outputs, 2)

    @property
    def rows_changed(self) -> int:
        """Of how many rows, or people, the contributions differ between two neighbours."""
        return 1 if self.neighboring == "add_remove" else 2

    @cached_property
    def rho(self) -> float:
        """The total rho that the claim allows, in zCDP."""
        return rho_for(self.epsilon, self.delta)

    @cached_property
    def mu(self) -> float:
        """The total mu that the claim allows, by the Gaussian curve."""
        return mu_for(self.epsilon, self.delta)

    def to_dict(self) -> dict[str, Any]:
        """The facts that the report shows."""
        return {name: getattr(self, name) for name in self.shown}


@dataclass(frozen=True, kw_only=True)
class Facts(Claim):
    """One configuration of a fit.

    ``bounds`` is the declared bound on every column, or None where ``x_bound`` holds for all;
    ``row_map`` is the map that is applied to entries first. ``centred`` has the declared ranges,
    columns x 2, and NaN for columns without one; it is None if no column has a range.
    """

    row_map: str = AS_IS
    centred: NDArray[np.float64] | None = None
    x_bound: float
    bounds: NDArray[np.float64] | None
    residual_bound: float
    shown = (*Claim.shown, "row_map")

    @property
    def held_bound(self) -> float:
        """The bound on the entries that a fit holds."""
        if self.row_map == PRESENCE or self.centred is not None:
            return 1.0
        return math.sqrt(self.x_bound) if self.row_map == SQRT else self.x_bound

    def to_dict(self) -> dict[str, Any]:
        bound: Any = self.x_bound if self.bounds is None else self.bounds.tolist()
        if self.centred is not None and isinstance(bound, list):
            ends = self.centred.tolist()
            bound = [
                size if low != low else [low, high]
                for size, (low, high) in zip(bound, ends, strict=True)
            ]
        return {**super().to_dict(), "x_bound": bound}


def column_bounds(columns: int, facts: Facts) -> Floats:
    """The declared bound on every column, repeated from the first where there are more columns."""
    if facts.bounds is not None:
        return np.resize(facts.bounds, columns)
    return np.full(columns, facts.x_bound)


def entries_of(shares: Floats, facts: Facts) -> Floats:
    """Entries at these shares of their bound, or of the distance from the middle of their range."""
    columns = shares.shape[-1]
    if facts.centred is None:
        return shares * column_bounds(columns, facts)
    middles, units = range_units(columns, facts)
    return middles + shares * np.where(np.isfinite(units), units, 0.0)


def held_rows(X: Floats, facts: Facts) -> Floats:
    """Entries clipped and scaled to one bound; or their roots, or their means with the bound; or 1
    for every nonzero entry. Columns with ranges are centred and scaled by them instead."""
    if facts.centred is None:
        return _mapped(X, facts)
    others = _mapped(X, replace(facts, centred=None))
    low, high = np.resize(facts.centred, (X.shape[1], 2)).T
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.clip((X - low) / (high - low), 0.0, 1.0)
    shares = np.rint(shares * _CELLS) / _CELLS
    rows = np.where((low == 0.0) & (high == 1.0), shares, 2.0 * shares - 1.0)
    rows = np.where(high > low, rows, 0.0)
    return np.where(np.isnan(low), others / replace(facts, centred=None).held_bound, rows)


def range_units(columns: int, facts: Facts) -> tuple[Floats, Floats]:
    """Middle and unit of every column: a held entry is the entry less the middle, in units."""
    assert facts.centred is not None
    low, high = np.resize(facts.centred, (columns, 2)).T
    as_they_are = np.isnan(low) | ((low == 0.0) & (high == 1.0))
    half = np.where(high > low, (high - low) / 2.0, np.inf)
    units = np.where(np.isnan(low), column_bounds(columns, facts), half)
    units = np.where((low == 0.0) & (high == 1.0), 1.0, units)
    return np.where(as_they_are, 0.0, (low + high) / 2.0), units


def _mapped(X: Floats, facts: Facts) -> Floats:
    if facts.row_map == PRESENCE:
        return np.where(X != 0.0, 1.0, 0.0)
    bounds = column_bounds(X.shape[1], facts)
    rows = _clipped(X * (facts.x_bound / bounds), facts.x_bound)
    if facts.row_map == SQRT:
        rows = np.sign(rows) * np.sqrt(np.abs(rows))
    if facts.row_map == BLEND:
        rows = (rows + np.sign(rows) * facts.x_bound) / 2.0
    return _clipped(rows, facts.held_bound)


def limit_of(bound: float) -> float:
    """The bound truncated to the 24 leading bits of single precision, where it is in its range."""
    if not 2.0**-126 <= bound <= (2.0 - 2.0**-23) * 2.0**127:
        return bound
    part, exponent = math.frexp(bound)
    return math.ldexp(math.floor(part * 2**24), exponent - 24)


def _clipped(rows: Floats, bound: float) -> Floats:
    return np.clip(rows, -limit_of(bound), limit_of(bound))


def held_labels(y: Floats, facts: Facts) -> Floats:
    """Indices of classes, or clipped numbers."""
    return y if facts.classes else np.clip(y, -facts.y_bound, facts.y_bound)


def row_shares(table: Table, facts: Claim) -> Floats:
    """As how much of a row every row counts, by its person's number of rows and by its class."""
    shares = np.ones(len(table.y))
    if table.people is not None:
        _, places, counts = np.unique(table.people, return_inverse=True, return_counts=True)
        shares = np.minimum(facts.rows_per_person / counts[places], 1.0)
        shares[table.people == NOBODY] = 0.0
    if facts.class_weights is not None:
        shares = shares * facts.class_weights[table.y.astype(np.int64)]
    return shares


def distinct_rows(rows: Floats, y: Floats, shares: Floats) -> tuple[Floats, Floats, Floats]:
    """Distinct rows with labels, and as how many rows each counts: equal ones have equal
    gradients."""
    both, places = np.unique(np.column_stack([rows, y]), axis=0, return_inverse=True)
    copies: Floats = np.bincount(places.ravel(), shares, len(both)).astype(np.float64)
    return np.ascontiguousarray(both[:, :-1]), both[:, -1], copies


def loss_gradients(margins: Floats, y: Floats, facts: Facts) -> Floats:
    """Derivative of the loss of each row in each of its margins: runs x rows x outputs.

    ``y`` are held labels. Residuals of the squared loss are not clipped.
    """
    if facts.slope is not None:
        return facts.slope(margins, y)
    if facts.loss == SOFTMAX:
        found = _softmax(margins)
        found[:, np.arange(len(y)), y.astype(np.int64)] -= 1.0
        return found
    guesses: Floats = expit(margins) if facts.loss == LOGISTIC else margins
    return guesses - y[:, None]


def _softmax(margins: Floats) -> Floats:
    """Softmax along the last, short axis: it works by planes, where scipy's goes by entries."""
    largest = reduce(np.maximum, np.moveaxis(margins, -1, 0))
    powers: Floats = np.exp(margins - largest[..., None])
    powers /= reduce(np.add, np.moveaxis(powers, -1, 0))[..., None]
    return powers


# The law of a released bound on entries.
CANDIDATES = 2.0 ** (np.arange(-40, 41) / 2.0)
SHARE = 0.1  # target share of rows whose typical entry is below the bound


def sizes_of_rows(X: Floats) -> Floats:
    """The lower median of the sizes of each row's entries; 0 for empty rows."""
    sizes = [np.sort(np.abs(row[row != 0.0])) for row in X]
    return np.array([row[(len(row) - 1) // 2] if len(row) else 0.0 for row in sizes])


def law_of_bound(table: Table, epsilon: float, facts: Claim) -> Floats:
    """Probabilities of the candidates, for a draw whose bounded range is ``epsilon``.

    A candidate's loss is the number of rows by which the count below it is too large, or the count
    below the next candidate too small. Replacing a row changes the losses within a range of 2,
    adding or removing one within a range of 1.8, and people as many rows as they count as. Empty
    rows have no size, and do not count.
    """
    sizes = sizes_of_rows(table.X)
    shares = np.where(sizes > 0.0, row_shares(table, facts), 0.0)
    below = np.array([np.sum(shares[sizes < candidate]) for candidate in CANDIDATES[1:]])
    excess = np.concatenate([[0.0], below, [shares.sum()]]) - SHARE * shares.sum()
    losses = np.maximum(np.maximum(excess[:-1], -excess[1:]), 0.0)
    widest = 2.0 if facts.rows_changed == 2 else 2.0 * max(SHARE, 1.0 - SHARE)
    weights = np.exp((losses.min() - losses) * epsilon / (widest * facts.rows_per_person))
    return weights / weights.sum()
