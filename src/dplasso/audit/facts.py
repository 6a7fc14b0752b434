"""The public numbers on which a guarantee rests."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

# Losses for which the audit has its own formulas.
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
    y_bound: float
    shown: ClassVar[tuple[str, ...]] = ("loss", "outputs", "epsilon", "delta", "neighboring")

    @property
    def classes(self) -> int:
        """Number of classes; 0 where labels are numbers."""
        return 0 if self.loss == SQUARED else max(self.outputs, 2)

    @property
    def rows_changed(self) -> int:
        """In how many rows' contributions two neighbours differ."""
        return 1 if self.neighboring == "add_remove" else 2

    def to_dict(self) -> dict[str, Any]:
        """The facts that the report shows."""
        return {name: getattr(self, name) for name in self.shown}


@dataclass(frozen=True, kw_only=True)
class Facts(Claim):
    """One configuration of a fit.

    ``bounds`` is the declared bound on every column, or None where ``x_bound`` holds for all;
    ``rows`` is the map that is applied to entries first.
    """

    rows: str = AS_IS
    x_bound: float
    bounds: NDArray[np.float64] | None
    residual_bound: float
    shown = (*Claim.shown, "rows")

    @property
    def held_bound(self) -> float:
        """The bound on the entries that a fit holds."""
        if self.rows == PRESENCE:
            return 1.0
        return math.sqrt(self.x_bound) if self.rows == SQRT else self.x_bound

    def to_dict(self) -> dict[str, Any]:
        bound: Any = self.x_bound if self.bounds is None else self.bounds.tolist()
        return {**super().to_dict(), "x_bound": bound}
