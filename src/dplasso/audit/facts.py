"""The public numbers that a guarantee rests on."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

# Losses for which the audit has formulas of its own.
LOGISTIC, SOFTMAX, SQUARED = "logistic", "softmax", "squared"
# Row gradients, ... x rows x 1, from margins of that shape and labels of the rows.
Slope = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]
AS_IS, PRESENCE, SQRT, BLEND = "as_is", "presence", "sqrt", "blend"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What is promised, and of which labels. Nothing here is taken from the product's account.

    ``slope`` is the gradient of any other loss, as its file states it in plain numpy: not the
    compiled one, which is audited. None where the audit has a formula of its own.
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
        """Kinds of labels; 0 where labels are numbers."""
        return 0 if self.loss == SQUARED else max(self.outputs, 2)

    @property
    def rows_changed(self) -> int:
        """How many rows' contributions two neighbours differ in."""
        return 1 if self.neighboring == "add_remove" else 2

    def to_dict(self) -> dict[str, Any]:
        """What the report shows of them."""
        return {name: getattr(self, name) for name in self.shown}


@dataclass(frozen=True, kw_only=True)
class Facts(Claim):
    """One configuration of a fit.

    ``bounds`` is the declared bound on every column, or None where ``x_bound`` is that of all;
    ``rows`` is the map that entries go through first.
    """

    rows: str = AS_IS
    x_bound: float
    bounds: NDArray[np.float64] | None
    residual_bound: float
    shown = (*Claim.shown, "rows")

    @property
    def held_bound(self) -> float:
        """The bound on entries as a fit holds them."""
        if self.rows == PRESENCE:
            return 1.0
        return math.sqrt(self.x_bound) if self.rows == SQRT else self.x_bound

    def to_dict(self) -> dict[str, Any]:
        bound: Any = self.x_bound if self.bounds is None else self.bounds.tolist()
        return {**super().to_dict(), "x_bound": bound}
