"""How much noise other accounts of the same draws need."""

import math

from dplasso.privacy.zcdp import rho_of

EPSILONS, DELTA = (0.1, 1.0, 8.0), 1e-6


def advanced_composition() -> str:
    """Noise by advanced composition, as the papers use it, over that of ours.

    For T selections at (epsilon, delta) the papers take an eps0 of epsilon / sqrt(8 T log(1/delta))
    for each, and ours is sqrt(8 rho / T). T cancels.
    """
    ratios = [
        math.sqrt(8 * rho_of(epsilon, DELTA)) * math.sqrt(8 * math.log(1 / DELTA)) / epsilon
        for epsilon in EPSILONS
    ]
    return f"{min(ratios):.1f} to {max(ratios):.1f}"
