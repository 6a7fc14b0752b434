"""How much of a noisy number is signal: a scale mixture of normals, fitted to all of them."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Signals' standard deviations, in those of the noise; 0 is a column without any.
SCALES = np.concatenate(([0.0], 2.0 ** np.arange(-2.0, 6.5, 0.5)))
# Few: the fit starts from all scales alike, and ends before it believes in any one of them.
ROUNDS = 6
# Sizes are counted in bins; what lies beyond the last is all but certain to be signal.
BIN, LAST = 0.02, 60.0


def signal_share(z: Floats) -> Floats:
    """The share of each ``z``, signal plus standard normal noise, that is signal on average.

    Signals are taken to be normal with a standard deviation drawn from `SCALES`, with
    probabilities that fit the sizes of ``z`` best (expectation maximisation). Given the scale t the
    share is t^2 / (1 + t^2); the result is its mean given z.

    >>> noise = np.random.default_rng(0).normal(size=10_000)
    >>> bool(signal_share(np.append(noise, 30.0))[-1] > 0.9), bool(signal_share(noise).mean() < 0.2)
    (True, True)
    """
    sizes = np.minimum(np.abs(z), LAST)
    places = (sizes / BIN).astype(np.int64)
    counts = np.bincount(places.ravel(), minlength=int(LAST / BIN) + 1)
    middles = (np.arange(len(counts)) + 0.5) * BIN
    variances = 1.0 + SCALES**2
    logs = -0.5 * (middles[:, None] ** 2 / variances + np.log(variances))
    likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
    shares = np.full(len(SCALES), 1.0 / len(SCALES))
    for _ in range(ROUNDS):
        posterior = likelihood * shares
        posterior /= posterior.sum(axis=1, keepdims=True)
        shares = counts @ posterior / counts.sum()
    posterior = likelihood * shares
    posterior /= posterior.sum(axis=1, keepdims=True)
    share: Floats = np.interp(sizes, middles, posterior @ (SCALES**2 / variances))
    return share
