"""Several classes from the opened matrix: linear discriminants with known noise.

If rows of a class are normal about its mean, with the same covariance W in all classes, the log of
a class's probability is, up to a number that all classes share,

    log p + g'W^-1 (x - m) - g'W^-1 g / 2,

p being the share of the class, m the mean of all rows and g that of the class less m. These are
least-squares weights of the columns of classes, rescaled. All of it follows from the opened matrix,
and the size of its noise is public. With v the variance of the noise on g, and B the spread of g
over classes, the best guess of g is B (B + v)^-1 g. Its error, B v (B + v)^-1, is added to W.
"""

import math

import numpy as np

from dplasso.base.arrays import Floats, Ints
from dplasso.federated.moments.opened import Moments
from dplasso.federated.moments.shrunk import Shrunk

_LEAST_SHARE = 1e-3  # of a class
_DEVIATIONS = 2.0  # of noise: added to every class's size, and asked of a spread to be more


class Discriminants:
    """Means and spreads of several classes, for the features that are kept."""

    def __init__(self, moments: Moments, kept: Ints, ridge: float) -> None:
        self._means = moments.means[kept]
        shares = np.maximum(moments.label_means, _LEAST_SHARE)
        # Noise makes some classes too small: then their means and odds would follow noise.
        sizes = shares * moments.n_rows + _DEVIATIONS * moments.label_sigma
        self._shares = sizes / sizes.sum()
        rows = self._shares * moments.n_rows
        gaps = moments.slopes[kept] / rows
        noise = (moments.label_sigma / rows) ** 2 + (moments.sigma / moments.n_rows) ** 2
        average = float(self._shares @ noise)
        levels, directions = np.linalg.eigh((gaps * self._shares) @ gaps.T)
        supported = np.maximum(levels - average, 0.0)
        # Noise alone has a spread of d * average, give or take.
        chance = _DEVIATIONS * math.sqrt(2.0 / gaps.size)
        if levels.sum() <= len(kept) * average * (1.0 + chance):
            supported[:] = 0.0
        tiny = np.finfo(np.float64).tiny
        factors = supported[:, None] / (supported[:, None] + noise + tiny)
        self.gaps = directions @ (factors * (directions.T @ gaps))
        between = (directions * supported) @ directions.T
        unsure = (directions * (supported * average / (supported + average + tiny))) @ directions.T
        spreads = moments.spreads[np.ix_(kept, kept)] / moments.n_rows
        within = Shrunk(spreads - between, moments.sigma / moments.n_rows, ridge)
        self.matrix = within.matrix + unsure

    def solved(self) -> Floats:
        """Return the weights of all classes."""
        found: Floats = np.linalg.solve(self.matrix, self.gaps)
        return found

    def intercepts(self, weights: Floats) -> Floats:
        """Return the intercepts of all classes."""
        middles = np.sum(weights * (self._means[:, None] + self.gaps / 2.0), axis=0)
        found: Floats = np.log(self._shares) - middles
        return found
