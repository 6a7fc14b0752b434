"""The array types that signatures name most often."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Labels = NDArray[np.generic]  # all of one kind: numbers or text
