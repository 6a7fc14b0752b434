"""What a learner asks of a private running sum."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dplasso.base.arrays import Floats

SparseVector = tuple[NDArray[np.integer[Any]], Floats]


class Stretch(Protocol):
    """Noise of some steps to come."""

    @property
    def values(self) -> NDArray[np.int64]: ...

    @property
    def floors(self) -> NDArray[np.int64]: ...


class SteppedSum(Protocol):
    """A running sum of whole numbers that compiled loops add to: `dplasso.streams.RunningSum`."""

    @property
    def total(self) -> NDArray[np.int64]: ...

    @property
    def bits(self) -> int: ...

    @property
    def unit(self) -> float: ...

    def stretch(self, steps: int) -> Stretch: ...


class RunningSum(Protocol):
    """Adds vectors up, and says only noisy sums of all so far.

    Whatever privacy a learner has is this object's: its window, its noise, its account.
    """

    def add(self, rows: Any) -> Floats:
        """Add the rows of one step, and release the sum of all rows so far.

        ``rows`` are gradients, each clipped: of one row a vector or its (indices, values), of a
        batch a matrix, dense or row-compressed.
        """
        ...
