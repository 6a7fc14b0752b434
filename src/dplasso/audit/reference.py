"""The public numbers on which a guarantee rests, and plain formulae that all fits share.

They are written in numpy: rows and labels as a fit should hold them, the gradients of the losses,
and the law of a released bound. The product is compared with them.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from dplasso.audit.account import mu_for, rho_for
from dplasso.base.arrays import Floats

# Losses for which the audit has its own formulae.
LOGISTIC, SOFTMAX, SQUARED = "logistic", "softmax", "squared"
# Function from margins, ... x rows x 1, and labels to row gradients of that shape.
Slope = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]
AS_IS, PRESENCE, SQRT, BLEND = "as_is", "presence", "sqrt", "blend"


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
    shown: ClassVar[tuple[str, ...]] = ("loss", "outputs", "epsilon", "delta", "neighboring")

    @property
    def classes(self) -> int:
        """Number of classes; 0 where labels are numbers."""
        return 0 if self.loss == SQUARED else max(self.outputs, 2)

    @property
    def rows_changed(self) -> int:
        """In how many rows' contributions two neighbours differ."""
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
    ``row_map`` is the map that is applied to entries first.
    """

    row_map: str = AS_IS
    x_bound: float
    bounds: NDArray[np.float64] | None
    residual_bound: float
    shown = (*Claim.shown, "row_map")

    @property
    def held_bound(self) -> float:
        """The bound on the entries that a fit holds."""
        if self.row_map == PRESENCE:
            return 1.0
        return math.sqrt(self.x_bound) if self.row_map == SQRT else self.x_bound

    def to_dict(self) -> dict[str, Any]:
        bound: Any = self.x_bound if self.bounds is None else self.bounds.tolist()
        return {**super().to_dict(), "x_bound": bound}


def column_bounds(columns: int, facts: Facts) -> Floats:
    """The declared bound on every column, repeated from the first where there are more columns."""
    if facts.bounds is not None:
        return np.resize(facts.bounds, columns)
    return np.full(columns, facts.x_bound)


def held_rows(X: Floats, facts: Facts) -> Floats:
    """Entries clipped and scaled to one bound; or their roots, or their means with the bound; or 1
    for every nonzero entry."""
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
    """The lower median of the sizes of each row's entries; empty rows have none."""
    sizes = [np.sort(np.abs(row[row != 0.0])) for row in X]
    return np.array([row[(len(row) - 1) // 2] for row in sizes if len(row)])


def law_of_bound(X: Floats, epsilon: float, facts: Claim) -> Floats:
    """Probabilities of the candidates, for a draw whose bounded range is ``epsilon``.

    A candidate's loss is the number of rows by which the count below it is too large, or the count
    below the next candidate too small. Replacing a row changes the losses within a range of 2,
    adding or removing one within a range of 1.8.
    """
    sizes = sizes_of_rows(X)
    below = np.array([np.sum(sizes < candidate) for candidate in CANDIDATES[1:]])
    excess = np.concatenate([[0.0], below, [len(sizes)]]) - SHARE * len(sizes)
    losses = np.maximum(np.maximum(excess[:-1], -excess[1:]), 0.0)
    widest = 2.0 if facts.rows_changed == 2 else 2.0 * max(SHARE, 1.0 - SHARE)
    weights = np.exp((losses.min() - losses) * epsilon / widest)
    return weights / weights.sum()
