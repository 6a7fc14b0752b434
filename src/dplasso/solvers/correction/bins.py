"""Which margins are counted together: bins that grow with the distance from 0, around a unit."""

import numpy as np

from dplasso.base.arrays import Floats

_ENDS: Floats = np.exp2(np.arange(-4, 9) / 2.0)  # from 1/4 to 16 units
_FINE_ENDS: Floats = np.exp2(np.arange(-8, 9) / 2.0)  # from 1/16 to 16 units


class Bins:
    """Bins between ``ends``, in units; the first and the last are open.

    ``middles`` are the margins that the bins stand for, and ``variances`` those of margins that are
    spread evenly over a bin. An open bin counts as if it had the next end.
    """

    def __init__(self, ends: Floats, lowest: float, highest: float) -> None:
        self.ends = ends
        low, high = np.append(lowest, ends), np.append(ends, highest)
        self.middles: Floats = (low + high) / 2.0
        self.variances: Floats = (high - low) ** 2 / 12.0

    def __len__(self) -> int:
        return len(self.middles)


_HIGHEST = float(np.exp2(4.5))
# Margins of two classes, and lengths of the margins of more classes.
MARGINS = Bins(np.concatenate([-_ENDS[::-1], _ENDS]), -_HIGHEST, _HIGHEST)
LENGTHS = Bins(_FINE_ENDS, 0.0, _HIGHEST)
