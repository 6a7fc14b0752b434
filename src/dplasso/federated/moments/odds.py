"""From least-squares scores to probabilities, by the relation of linear discriminants.

If scores are normal with equal variance v in a class and outside of it, and their means differ by a
gap g, then the log-odds of the class are linear in the score:

    log p / (1 - p) + g / v * (score - (m_in + m_out) / 2).

All of these numbers follow from the opened matrix. Weights follow its noise, so that both the gap
and the spread of scores would be judged by the noise they were fitted to. With H the inverse of the
shrunk products, the noise's part in w'(X'y + N) is sigma^2 tr(H) on average, and in w'(X'X + N)w it
is -2 sigma^2 (|w|^2 tr(H) + w'H w), to first order in the noise. Both are taken out.
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
    """Return slope and intercept of the log-odds for each column of scores: no further cost."""
    along, spread = without_own_noise(moments, shrunk, kept, weights)
    # Labels are -1 and 1 for two classes, and 0 and 1 in each of several columns.
    two = moments.plan.terms.n_classes == 2
    width = 2.0 if two else 1.0
    means = moments.label_means
    share = np.clip((means + 1.0) / 2.0 if two else means, _LEAST_SHARE, 1.0 - _LEAST_SHARE)
    both = share * (1.0 - share)
    # Both are noisy themselves. One standard error each keeps odds from being too sure.
    length = np.linalg.norm(weights, axis=0)
    along = np.maximum(along - moments.sigma * length, 0.0)
    spread = spread + math.sqrt(2.0) * moments.sigma * length**2
    total = spread / moments.n_rows + 1e-12
    # Scores cannot differ more between classes than they do at all.
    most = np.sqrt((1.0 - _LEAST_WITHIN) * total / both)
    gap = np.minimum(along / (moments.n_rows * width * both), most)
    slope = gap / (total - both * gap**2)
    # The mean score is the mean label; a class has the share p above it and leaves the rest below.
    middle = means + (0.5 - share) * gap
    return Odds(slope, np.log(share / (1.0 - share)) - slope * middle)


def without_own_noise(
    moments: Moments, shrunk: Shrunk, kept: Ints, weights: Floats
) -> tuple[Floats, Floats]:
    """Return w'X'y and w'X'X w about the means, per column, without the noise that w follows."""
    variance, inverse = moments.sigma**2, shrunk.trace_of_inverse
    spreads, slopes = moments.spreads[np.ix_(kept, kept)], moments.slopes[kept]
    along = np.sum(weights * slopes, axis=0) - variance * inverse
    squares = np.sum(weights**2, axis=0)
    curved = np.sum(weights * shrunk.solved(weights), axis=0)
    spread = np.sum(weights * (spreads @ weights), axis=0)
    spread += 2.0 * variance * (squares * inverse + curved)
    # Noise may leave too little of the spread. That of the shrunk products is safer.
    return along, np.maximum(spread, np.sum(weights * (shrunk.matrix @ weights), axis=0))
