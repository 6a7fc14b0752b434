"""How many rows there are, by the counts that a correction releases anyway."""

import math
from typing import NamedTuple

import numpy as np

from dplasso.base.arrays import Ints
from dplasso.solvers.correction.bins import LENGTHS
from dplasso.solvers.correction.plan import GRAINS, CorrectionPlan

# A declared number is far off if it is too large, or too small, by more than these factors, and by
# more than this many standard deviations of the noise, which hardly ever happens by chance (once in
# 1.7 million fits). Too many rows do more harm: means of columns are sums over declared rows.
TOO_MANY, TOO_FEW, CLEAR = 1.2, 2.0, 5.0


class CountedRows(NamedTuple):
    """A noisy number of rows, and the standard deviation of its noise."""

    found: float
    noise: float

    def contradicts(self, declared: int) -> bool:
        """Whether a declared number of rows is far off."""
        is_far = not declared / TOO_MANY <= self.found <= declared * TOO_FEW
        return is_far and abs(self.found - declared) > CLEAR * self.noise


def counted_rows(plan: CorrectionPlan, released: Ints) -> CountedRows:
    """Add up released counts in which every row is counted once.

    Those are all counts of two classes, and the counts of classes if there are more.

    Formal guarantees
    -----------------
    It is post-processing: a function of released counts and public numbers.
    """
    counts = released if plan.outputs == 1 else released[len(LENGTHS) :]
    noise = plan.count_sigma / GRAINS * math.sqrt(len(counts))
    return CountedRows(float(np.sum((counts + 0.5) / GRAINS)), noise)
