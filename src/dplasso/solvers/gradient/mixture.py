"""Estimate the signal in noisy numbers by a scale mixture of normals, fitted to all of them."""

import numpy as np
from numpy.typing import NDArray

from dplasso.base.arrays import Floats

# Standard deviations of signals, relative to that of the noise; 0 is a column without signal.
SCALES = np.concatenate(([0.0], 2.0 ** np.arange(-2.0, 6.5, 0.5)))
# Few rounds: the fit starts from equal probabilities, and stops before it settles on one scale.
ROUNDS = 6
# Absolute values are counted in bins; a number beyond the last is almost certainly signal.
BIN, LAST = 0.02, 60.0


class SignalShare:
    """The expected share of signal in a number that is signal plus standard normal noise.

    Signals are modelled as normal with a standard deviation drawn from `SCALES`, with probabilities
    fitted to the absolute values of the numbers (expectation maximisation). Given the scale t the
    share is t^2 / (1 + t^2); calling the object returns its mean given the number: a line between
    the ``shares`` at the ``middles`` of the bins.

    Formal guarantees
    -----------------
    It is post-processing: the numbers are functions of releases. It costs nothing.

    >>> noise = np.random.default_rng(0).normal(size=10_000)
    >>> share = SignalShare(size_counts(np.append(noise, [30.0, -30.0])))
    >>> bool(share(np.array([30.0]))[0] > 0.9), bool(share(noise).mean() < 0.2)
    (True, True)
    """

    def __init__(self, counts: NDArray[np.int64]) -> None:
        self.middles = (np.arange(len(counts)) + 0.5) * BIN
        variances = 1.0 + SCALES**2
        logs = -0.5 * (self.middles[:, None] ** 2 / variances + np.log(variances))
        likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
        chances = np.full(len(SCALES), 1.0 / len(SCALES))
        for _ in range(ROUNDS):
            chances = counts @ _posterior(likelihood, chances) / counts.sum()
        self.shares = _posterior(likelihood, chances) @ (SCALES**2 / variances)

    @property
    def slopes(self) -> Floats:
        """Slopes of the lines between the shares."""
        slopes: Floats = np.diff(self.shares) / np.diff(self.middles)
        return slopes

    def __call__(self, z: Floats) -> Floats:
        share: Floats = np.interp(np.abs(z), self.middles, self.shares)
        return share


def size_counts(z: Floats) -> NDArray[np.int64]:
    """Histogram of the absolute values; histograms of parts add up."""
    places = (np.minimum(np.abs(z), LAST) / BIN).astype(np.int64)
    return np.bincount(places, minlength=int(LAST / BIN) + 1)


def _posterior(likelihood: Floats, chances: Floats) -> Floats:
    joint: Floats = likelihood * chances
    joint /= joint.sum(axis=1, keepdims=True)
    return joint
