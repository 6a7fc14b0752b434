"""What a learner asks of a private running sum."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
SparseVector = tuple[NDArray[np.integer], Floats]


class RunningSum(Protocol):
    """Adds vectors up, and says only noisy sums of all so far.

    Whatever privacy a learner has is this object's: its window, its noise, its account. What comes
    in was clipped row by row; a batch is one vector, the sum of its rows' (of length up to
    rows x clip), and one row moves it by at most clip.
    """

    def add(self, vector: Floats | SparseVector) -> Floats:
        """Add a vector, dense or as (indices, values), and release the sum of all so far."""
        ...
