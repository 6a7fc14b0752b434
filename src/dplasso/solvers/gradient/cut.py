"""A public number of nonzero weights."""

import numpy as np

from dplasso.base.arrays import Floats
from dplasso.solvers.gradient.conditioning import Mass


def largest_only(weights: Floats, mass: Mass, n_nonzero: int) -> Floats:
    """Keep the ``n_nonzero`` weights that move margins most, and set the others to 0.

    A weight moves margins by its absolute value times the root of its column's mass.

    Formal guarantees
    -----------------
    It is post-processing, a function of releases and public numbers: no cost.
    """
    flat = weights.ravel()
    if n_nonzero >= flat.size:
        return weights
    reach = np.abs(weights) * np.sqrt(mass.present)
    # The smallest of negative numbers: most are 0, and numpy finds the largest of many ties slowly.
    kept = np.argpartition(-reach.ravel(), n_nonzero - 1)[:n_nonzero]
    out = np.zeros_like(flat)
    out[kept] = flat[kept]
    return out.reshape(weights.shape)
