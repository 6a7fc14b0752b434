"""AMP: approximate minima perturbation, a minimum of a perturbed objective that is good enough.

Minimise ``sum of losses + ridge / 2 ||w||^2 + b.w`` with ``b ~ N(0, sd^2 I)`` until the gradient is
no longer than a tolerance, and add normal noise to the result that covers how far it may be from
the true minimum. Iyengar, Near, Song, Thakkar, Thakurta and Wang, "Towards practical differentially
private convex optimization", 2019, Algorithm 1. The noise of the objective is calibrated more
tightly than there: for one row more or less instead of a replaced one, and by the privacy loss of a
linear model instead of a tail bound (Redberg, Koskela and Wang, "Improving the privacy and
practicality of objective perturbation", 2023). Rows have length 1, so that nothing is clipped.

Grid: maps of rows (presence, as they are) x four ridges 3 apart (.3 to 10 times the noise a
Gaussian mechanism would need); then, around the best, ridges 1.7 apart and a larger bias (not for
more than half a million columns). The share of epsilon for the output is fixed: with the tolerance
it is given, its noise is a tenth of the other in standard deviation, so that another share would
hardly tell.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numba import njit
from scipy.optimize import brentq, minimize
from scipy.special import log_ndtr

from rivals.accounts import gaussian_delta, gaussian_mu
from rivals.problem import Effort, Problem, Request, rounded

OUTPUT_SHARE = 0.02  # of epsilon and of delta
OUTPUT_NOISE = 0.1  # over that of the objective, both in the weights
RIDGES = (0.3, 1.0, 3.0, 10.0)  # over the noise of a Gaussian mechanism
MOST_CURVATURE = 0.7  # share of epsilon that the ridge may let the curvature cost
BIAS, OTHER_BIAS = 0.3, 1.0
CURVATURE = 0.25  # of the logistic loss, at most


class Calibration(NamedTuple):
    """``objective_sd`` of b, ``tolerance`` of the gradient's length, ``output_sd`` of the result"""

    objective_sd: float
    tolerance: float
    output_sd: float


def objective_delta(epsilon: float, mu: float, excess: float) -> float:
    """delta of a perturbed objective; ``mu`` is the longest gradient of a row over the noise's sd.

    Weights and noise determine each other. Where weights are the same with and without a row, the
    noises differ by that row's gradient, whose direction the weights do not change and whose length
    they may. So the privacy loss is at most ``mu |N| + mu^2 / 2 + excess`` with N standard normal,
    the excess being what the row does to the volume: ``log(1 + curvature / ridge)``.
    """
    left = epsilon - excess - mu * mu / 2.0
    if left >= 0.0:
        return min(1.0, 2.0 * gaussian_delta(epsilon - excess, mu))
    return 1.0 - 2.0 * math.exp(left + mu * mu / 2.0 + log_ndtr(-mu))


def calibrated(epsilon: float, delta: float, ridge: float, longest: float) -> Calibration:
    """Noise for rows no longer than ``longest``, and how near to the minimum to come.

    Formal guarantees
    -----------------
    The true minimum is (1 - OUTPUT_SHARE)(epsilon, delta)-DP for one row more or less. The gradient
    is at most ``tolerance``, the objective ``ridge``-strongly convex: the result is within
    ``tolerance / ridge`` of the minimum, with one row more or less on the other side of it at
    worst, and Gaussian noise for twice that is OUTPUT_SHARE (epsilon, delta)-DP. Costs add.
    """
    mine, rest = 1.0 - OUTPUT_SHARE, OUTPUT_SHARE
    excess = math.log1p(CURVATURE * longest**2 / ridge)
    if excess >= mine * epsilon:
        raise ValueError(f"ridge {ridge:g} is too small for epsilon {epsilon:g}")

    def over(log_mu: float) -> float:
        return objective_delta(mine * epsilon, math.exp(log_mu), excess) - mine * delta

    sd = longest / math.exp(brentq(over, math.log(1e-9), math.log(1e3)))
    output_mu = gaussian_mu(rest * epsilon, rest * delta)
    # 2 tolerance / ridge / output_mu = OUTPUT_NOISE sd / ridge
    tolerance = OUTPUT_NOISE * sd * output_mu / 2.0
    return Calibration(sd, tolerance, 2.0 * tolerance / ridge / output_mu)


@njit(cache=True, fastmath=True)
def loss_and_gradient(indptr, indices, data, labels, bias, w, gradient):  # type: ignore[no-untyped-def]
    """The sum of the losses; their gradient is added to ``gradient``."""
    total, last = 0.0, w.size - 1
    for i in range(indptr.size - 1):
        margin = bias * w[last]
        for p in range(indptr[i], indptr[i + 1]):
            margin += data[p] * w[indices[p]]
        small = np.exp(-abs(margin))
        total += np.log1p(small) + max(margin, 0.0) - labels[i] * margin
        residual = (1.0 if margin > 0.0 else small) / (1.0 + small) - labels[i]
        gradient[last] += bias * residual
        for p in range(indptr[i], indptr[i + 1]):
            gradient[indices[p]] += data[p] * residual
    return total


class NotReachedError(RuntimeError):
    """The optimiser gave up before the tolerance: nothing may be released."""


def approximate_minimum(
    X: sp.csr_array,
    labels: np.ndarray,
    *,
    bias: float,
    ridge: float,
    tilt: np.ndarray,
    tolerance: float,
) -> np.ndarray:
    """Weights, the intercept's last, where the gradient is no longer than ``tolerance``."""

    length = math.inf  # of the gradient where it was last computed

    def objective(w: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal length
        gradient = ridge * w + tilt
        total = loss_and_gradient(X.indptr, X.indices, X.data, labels, bias, w, gradient)
        length = float(np.linalg.norm(gradient))
        return total + 0.5 * ridge * float(w @ w) + float(tilt @ w), gradient

    def stop_when_enough(intermediate_result: Any) -> None:
        if length <= tolerance:
            raise StopIteration

    options = {"maxiter": 2000, "maxfun": 4000, "ftol": 0.0, "gtol": 0.0}
    w = np.zeros(X.shape[1] + 1)
    for _ in range(5):  # the line search can give up early; started anew it goes on
        w = minimize(
            objective, w, jac=True, method="L-BFGS-B", callback=stop_when_enough, options=options
        ).x
        objective(w)
        if length <= tolerance:
            return w
    raise NotReachedError("the minimum was not reached to the tolerance that privacy needs")


def fit(X: sp.csr_array, labels: np.ndarray, request: Request, delta: float) -> np.ndarray:
    """Private weights, the intercept's last, for rows of length 1 at most."""
    bias, ridge = request.settings["bias"], request.settings["ridge"]
    noise = calibrated(request.epsilon, delta, ridge, math.hypot(1.0, bias))
    rng = np.random.default_rng(request.seed)
    tilt = noise.objective_sd * rng.standard_normal(X.shape[1] + 1)
    w = approximate_minimum(X, labels, bias=bias, ridge=ridge, tilt=tilt, tolerance=noise.tolerance)
    return w + noise.output_sd * rng.standard_normal(len(w))


def _least_ridge(epsilon: float) -> float:
    """A little above the smallest ridge whose curvature is paid for, whatever the bias."""
    return 1.01 * CURVATURE * (1.0 + OTHER_BIAS**2) / math.expm1(MOST_CURVATURE * epsilon)


class Amp:
    """The rival: its grid, and its fits judged on the test rows."""

    name = "AMP"

    def effort(self, problem: Problem) -> Effort:
        return Effort(1, 1) if problem.is_wide else Effort(2, 3)

    def coarse(self, problem: Problem, epsilon: float) -> list[dict[str, Any]]:
        scale = math.hypot(1.0, BIAS) / gaussian_mu(epsilon, problem.delta)
        least = _least_ridge(epsilon)
        ridges = dict.fromkeys(rounded(max(ratio * scale, least)) for ratio in RIDGES)
        return [
            {"map": name, "bias": BIAS, "ridge": ridge} for name in problem.maps for ridge in ridges
        ]

    def nearby(self, problem: Problem, epsilon: float, best: dict[str, Any]) -> list[dict]:
        if problem.is_wide:
            return []
        least = _least_ridge(epsilon)
        ridges = [rounded(max(best["ridge"] * factor, least)) for factor in (0.6, 1.7)]
        return [{**best, "ridge": ridge} for ridge in ridges] + [{**best, "bias": OTHER_BIAS}]

    def scores(
        self, problem: Problem, requests: Sequence[Request]
    ) -> Iterator[tuple[Request, dict[str, float]]]:
        for request in requests:
            train, test = problem.rows(request.settings["map"])
            try:
                w = fit(train, problem.labels, request, problem.delta)
            except NotReachedError:
                w = np.full(train.shape[1] + 1, np.nan)  # a setting that gives no model
            yield request, problem.judge(test @ w[:-1] + request.settings["bias"] * w[-1])


AMP = Amp()
