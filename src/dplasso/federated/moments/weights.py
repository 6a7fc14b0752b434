"""Weights from the opened matrix: post-processing, for as many models as one likes."""

import numpy as np

from dplasso.base import checks
from dplasso.base.arrays import Floats, Ints
from dplasso.federated.moments.discriminants import Discriminants
from dplasso.federated.moments.model import MomentModel, Odds
from dplasso.federated.moments.odds import odds_of
from dplasso.federated.moments.opened import Moments
from dplasso.federated.moments.shrunk import Shrunk
from dplasso.federated.weights import constrained

Fitted = tuple[Floats, Floats, Odds | None]  # weights of the kept features, intercepts, odds


def fit_moments(
    moments: Moments,
    *,
    ridge: float = 1.0,
    radius: float | None = None,
    n_nonzero: int | None = None,
) -> MomentModel:
    """Return the least-squares model that the noisy matrix supports.

    Several classes are told apart by linear discriminants
    (`dplasso.federated.moments.discriminants`).

    Parameters
    ----------
    moments : Moments
    ridge : float, default 1
        Strength of the ridge, in units of the noise: sigma times the root of the number of
        features. For numbers, eigenvalues below twice this strength are raised to it instead.
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
    radius = None if radius is None else checks.bound("radius", radius)
    fit = _classes if moments.plan.terms.n_classes > 2 else _numbers
    kept = np.arange(moments.n_features)
    weights, intercepts, odds = fit(moments, kept, ridge, radius)
    if n_nonzero is not None:
        kept = _largest(moments, weights, checks.count("n_nonzero", n_nonzero, 1))
        weights, intercepts, odds = fit(moments, kept, ridge, radius)
    coefficients = np.zeros(moments.slopes.shape)
    coefficients[kept] = weights
    return MomentModel(moments.plan.terms, coefficients, intercepts, odds)


def _numbers(moments: Moments, kept: Ints, ridge: float, radius: float | None) -> Fitted:
    """One column of labels: numbers, or two classes as -1 and 1."""
    raised = not moments.plan.terms.n_classes
    spreads = moments.spreads[np.ix_(kept, kept)]
    shrunk = Shrunk(spreads, moments.sigma, ridge, raised=raised)
    slopes = moments.slopes[kept]
    weights = _within(radius, shrunk.matrix, slopes, shrunk.solved(slopes))
    intercepts = moments.label_means - moments.means[kept] @ weights
    odds = odds_of(moments, shrunk, kept, weights) if moments.plan.terms.n_classes else None
    return weights, intercepts, odds


def _classes(moments: Moments, kept: Ints, ridge: float, radius: float | None) -> Fitted:
    """Several classes, whose scores are log-odds as they are."""
    found = Discriminants(moments, kept, ridge)
    weights = _within(radius, found.matrix, found.gaps, found.solved())
    classes = moments.plan.terms.n_classes
    return weights, found.intercepts(weights), Odds(np.ones(classes), np.zeros(classes))


def _within(radius: float | None, matrix: Floats, slopes: Floats, free: Floats) -> Floats:
    """Weights in an L1 ball, if there is one."""
    if radius is None:
        return free
    most = float(np.linalg.eigvalsh(matrix)[-1])
    columns = [
        constrained(matrix, slope, most, radius, start)
        for slope, start in zip(slopes.T, free.T, strict=True)
    ]
    return np.column_stack(columns)


def _largest(moments: Moments, weights: Floats, count: int) -> Ints:
    """The features whose weights move predictions most: weight times spread."""
    spread = np.sqrt(np.maximum(np.diag(moments.spreads), 0.0) + moments.sigma)
    reach = np.linalg.norm(weights, axis=1) * spread
    return np.sort(np.argsort(-reach, kind="stable")[:count])
