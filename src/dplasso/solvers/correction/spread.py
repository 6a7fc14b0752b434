"""How margins of two classes spread, from noisy counts: a bell curve where noise hides counts."""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from dplasso.base.arrays import Floats
from dplasso.solvers.correction.bins import MARGINS

# Counts above this many standard deviations of their noise are read as they are.
CLEAR_FROM = 4.0
# Bell curves that are compared: their widths, over the usual one, and their middles, over the
# larger of their own width and the usual one.
WIDTHS: Floats = np.exp2(np.arange(-12, 13) / 4.0)
MIDDLES: Floats = np.arange(-32, 33) / 4.0
# How far widths are off, as a logarithm, and how far middles are from 0, in usual widths.
WIDTH_OFF, MIDDLE_OFF = 0.6, 1.5


class LikelyMargins(NamedTuple):
    """Likely rows in each bin of `MARGINS`, and widths of bell curves with their weights."""

    totals: Floats
    widths: Floats
    weights: Floats


def likely_margins(totals: Floats, noise: float, n_rows: int, usual: float) -> LikelyMargins:
    """How margins are spread, by counts with ``noise``; ``usual`` is a width, in units.

    Bell curves are weighed by how well they fit all counts together, and by how usual they are.
    Their mean stands for the counts that noise hides, but is at most what noise can hide. So a bin
    that only noise has filled does not lead astray, and many faint counts say something together.
    """
    width = usual * np.repeat(WIDTHS, len(MIDDLES))
    middle = np.tile(MIDDLES, len(WIDTHS)) * np.maximum(width, usual)
    ends = (MARGINS.ends - middle[:, None]) / width[:, None]
    below = np.column_stack([np.zeros(len(width)), ndtr(ends), np.ones(len(width))])
    expected = n_rows * np.diff(below, axis=1)
    unusual = 0.5 * (np.log(width / usual) / WIDTH_OFF) ** 2
    unusual += np.log1p((middle / (MIDDLE_OFF * usual)) ** 2)
    fits = (expected @ totals - 0.5 * np.sum(expected**2, axis=1)) / noise**2 - unusual
    weights = np.exp(fits - fits.max())
    weights /= weights.sum()
    curve = weights @ expected
    hidden = np.minimum(curve, np.maximum(totals + noise, 0.0))
    found: Floats = np.where(totals > CLEAR_FROM * noise, totals, hidden)
    return LikelyMargins(found if found.any() else curve, width, weights)
