"""Weights from the opened matrix: post-processing, for as many models as one likes."""

import math

import numpy as np

from dplasso.base import checks
from dplasso.base.arrays import Floats, Ints
from dplasso.base.wording import ParameterError
from dplasso.federated.moments.model import MomentModel
from dplasso.federated.moments.odds import odds_of
from dplasso.federated.moments.opened import Moments
from dplasso.federated.moments.shrunk import Shrunk
from dplasso.federated.weights import constrained


def fit_moments(
    moments: Moments,
    *,
    ridge: float = 1.0,
    radius: float | None = None,
    n_nonzero: int | None = None,
) -> MomentModel:
    """Return the least-squares model that the noisy matrix supports.

    Parameters
    ----------
    moments : Moments
    ridge : float, default 1
        Strength of the ridge, in units of the noise: sigma times the root of the number of
        features.
    radius : float, optional
        Bound on the L1 norm of the weights of a column of labels, in units of bounded entries.
    n_nonzero : int, optional
        Number of features that may have weights other than 0.

    Returns
    -------
    MomentModel

    Formal guarantees
    -----------------
    A function of a release: no further cost. Several models may be computed from one matrix. To
    choose among them by rows that are not public is a release of its own.
    """
    ridge = checks.budget("ridge", ridge)
    shrunk = Shrunk(moments.spreads, moments.sigma, ridge)
    kept = np.arange(moments.n_features)
    weights = _weights(shrunk, moments.slopes, radius)
    if n_nonzero is not None:
        kept = _largest(moments, weights, checks.count("n_nonzero", n_nonzero, 1))
        shrunk = Shrunk(moments.spreads[np.ix_(kept, kept)], moments.sigma, ridge)
        weights = _weights(shrunk, moments.slopes[kept], radius)
    coefficients = np.zeros(moments.slopes.shape)
    coefficients[kept] = weights
    intercepts = moments.label_means - moments.means @ coefficients
    odds = odds_of(moments, shrunk, kept, weights) if moments.plan.terms.n_classes else None
    return MomentModel(moments.plan.terms, coefficients, intercepts, odds)


def _weights(shrunk: Shrunk, slopes: Floats, radius: float | None) -> Floats:
    free = shrunk.solved(slopes)
    if radius is None:
        return free
    if not math.isfinite(bound := checks.bound("radius", radius)):
        raise ParameterError("{radius} must be finite; leave it out for no bound")
    columns = [
        constrained(shrunk.matrix, slope, shrunk.most, bound, start)
        for slope, start in zip(slopes.T, free.T, strict=True)
    ]
    return np.column_stack(columns)


def _largest(moments: Moments, weights: Floats, count: int) -> Ints:
    """The features whose weights move predictions most: weight times spread."""
    spread = np.sqrt(np.maximum(np.diag(moments.spreads), 0.0) + moments.sigma)
    reach = np.linalg.norm(weights, axis=1) * spread
    return np.sort(np.argsort(-reach, kind="stable")[:count])
