"""What a learner asks of a private running sum."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
SparseVector = tuple[NDArray[np.integer[Any]], Floats]


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
