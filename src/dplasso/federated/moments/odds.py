"""From least-squares scores to probabilities of two classes, as linear discriminants have them.

If scores are normal with equal variance v in a class and outside of it, and their means differ by a
gap g, then the log-odds of the class are linear in the score:

    log p / (1 - p) + g / v * (score - (m_in + m_out) / 2).

All of these numbers follow from the opened matrix. Weights follow its noise, so that both the gap
and the spread of scores would be judged by the noise they were fitted to. With H the inverse of the
shrunk products, s the variances of the noise n on X'y, S those of the noise N on X'X, and h the
diagonal of H, the noise's part in w'(X'y + n) is s'h on average, and in w'(X'X + N)w it is
-2 w'(diag(S h) + S * H) w, to first order in the noise, * being entry by entry. Both are taken out.
"""

import math

import numpy as np

from dplasso.base.arrays import Floats, Ints
from dplasso.federated.moments.model import Odds
from dplasso.federated.moments.opened import Moments
from dplasso.federated.moments.shrunk import Shrunk

_LEAST_WITHIN = 0.05  # of the variance of scores that is within classes, at least
_LEAST_SHARE = 1e-3  # of a class


def odds_of(moments: Moments, shrunk: Shrunk, kept: Ints, weights: Floats) -> Odds:
    """Return slope and intercept of the log-odds of two classes: no further cost."""
    along, spread = without_own_noise(moments, shrunk, kept, weights)
    means = moments.label_means  # of -1 and 1
    # Noise of two standard deviations may not make a class look rare.
    pad = 2.0 * moments.label_sigma / moments.n_rows
    share = ((means + 1.0) / 2.0 + pad) / (1.0 + 2.0 * pad)
    share = np.clip(share, _LEAST_SHARE, 1.0 - _LEAST_SHARE)
    both = share * (1.0 - share)
    # Both are noisy themselves. One standard error each keeps odds from being too sure.
    length = np.linalg.norm(weights, axis=0)
    along = np.maximum(along - moments.label_sigma * length, 0.0)
    spread = spread + math.sqrt(2.0) * moments.sigma * length**2
    total = spread / moments.n_rows + 1e-12
    # Scores cannot differ more between classes than they do at all.
    most = np.sqrt((1.0 - _LEAST_WITHIN) * total / both)
    gap = np.minimum(along / (2.0 * moments.n_rows * both), most)
    slope = gap / (total - both * gap**2)
    # The mean score is the mean label; a class has the share p above it and leaves the rest below.
    middle = means + (0.5 - share) * gap
    return Odds(slope, np.log(share / (1.0 - share)) - slope * middle)


def without_own_noise(
    moments: Moments, shrunk: Shrunk, kept: Ints, weights: Floats
) -> tuple[Floats, Floats]:
    """Return w'X'y and w'X'X w about the means, per column, without the noise that w follows."""
    variances, of_labels = moments.variances, slice(moments.n_features + 1, None)
    inverse, square = shrunk.inverse, np.ix_(kept, kept)
    sizes = np.diag(inverse)
    slopes = moments.slopes[kept]
    along = np.sum(weights * slopes, axis=0) - sizes @ variances[kept, of_labels]
    followed = np.diag(variances[square] @ sizes) + variances[square] * inverse
    spreads = moments.spreads[square] + 2.0 * followed
    spread = np.sum(weights * (spreads @ weights), axis=0)
    # Noise may leave too little of the spread. That of the shrunk products is safer.
    return along, np.maximum(spread, np.sum(weights * (shrunk.matrix @ weights), axis=0))
