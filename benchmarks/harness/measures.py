"""How good predictions of test rows are: success, log-loss, and how far probabilities hold.

Success is R2 for numbers; for classes it is accuracy, or the area under the ROC curve of two.
Classes are the whole numbers from 0 on.
"""

import math
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.metrics import roc_auc_score

LOG_LOSS, ERROR, RECALIBRATED = "log-loss", "calibration error", "recalibrated log-loss"
WORST = {"R2": -1e6, "accuracy": 0.0, "AUC": 0.0, LOG_LOSS: 1e3}  # of a fit that diverged
SMALLEST = 1e-12  # probability that log-loss counts
BINS = 15


def sign(measure: str) -> float:
    """1 where larger is better, and -1 where smaller is."""
    return 1.0 if measure in ("R2", "accuracy", "AUC") else -1.0


def of_numbers(truth: np.ndarray, found: np.ndarray) -> dict[str, float]:
    """R2 of predicted numbers."""
    found = np.asarray(found, dtype=np.float64)
    return {"R2": r2(truth, found) if np.all(np.isfinite(found)) else WORST["R2"]}


def of_margins(truth: np.ndarray, margins: np.ndarray, measure: str) -> dict[str, float]:
    """Success and log-loss of margins: those of the second of two classes, or one per class."""
    margins = np.asarray(margins, dtype=np.float64)
    if not np.all(np.isfinite(margins)):
        return {name: WORST[name] for name in (measure, LOG_LOSS)}
    if margins.ndim == 1 or margins.shape[1] == 1:
        margins = np.column_stack([np.zeros(len(truth)), margins.reshape(-1)])
    return {measure: success(truth, margins, measure), LOG_LOSS: log_loss(truth, margins)}


def of_probabilities(truth: np.ndarray, shares: np.ndarray, measure: str) -> dict[str, float]:
    """Success, log-loss, expected calibration error, and the log-loss that recalibration leaves."""
    if not np.all(np.isfinite(shares)):
        return {measure: WORST[measure], LOG_LOSS: WORST[LOG_LOSS]}
    logarithms = np.log(np.maximum(shares, SMALLEST))
    return {
        **of_margins(truth, logarithms, measure),
        ERROR: calibration_error(truth, shares),
        RECALIBRATED: recalibrated_log_loss(truth, logarithms),
    }


def success(truth: np.ndarray, margins: np.ndarray, measure: str) -> float:
    """Accuracy, or the area under the ROC curve, of one column of margins per class."""
    if measure == "AUC":
        return float(roc_auc_score(truth, margins[:, 1] - margins[:, 0]))
    return float(np.mean(margins.argmax(axis=1) == truth))


def r2(truth: np.ndarray, found: np.ndarray) -> float:
    """The share of the variance that is explained."""
    with np.errstate(over="ignore"):
        left = float(np.mean((truth - found) ** 2) / np.var(truth))
    return max(1.0 - left, WORST["R2"]) if math.isfinite(left) else WORST["R2"]


def log_loss(truth: np.ndarray, margins: np.ndarray) -> float:
    """Mean negative log-likelihood, from one column of margins per class."""
    found = log_softmax(margins, axis=1)[np.arange(len(truth)), truth.astype(np.intp)]
    return min(float(-np.mean(found)), WORST[LOG_LOSS])


def calibration_error(truth: np.ndarray, shares: np.ndarray) -> float:
    """Expected calibration error: how far confidence is from accuracy, in 15 equal bins.

    Confidence is the probability of the predicted class.
    """
    confidence, right = shares.max(axis=1), shares.argmax(axis=1) == truth
    bins = np.minimum((confidence * BINS).astype(np.intp), BINS - 1)
    gaps = np.bincount(bins, weights=confidence - right, minlength=BINS)
    return float(np.abs(gaps).sum() / len(truth))


def recalibrated_log_loss(truth: np.ndarray, margins: np.ndarray) -> float:
    """The least log-loss of margins times one scale plus one intercept per class.

    Scale and intercepts are fitted to the same rows: no method could know them.
    """
    margins = margins - margins.mean(axis=1, keepdims=True)
    unit = max(float(np.abs(margins).max()), SMALLEST)
    rows, classes = np.arange(len(truth)), truth.astype(np.intp)
    wanted = np.zeros(margins.shape)
    wanted[rows, classes] = 1.0

    def loss(settings: np.ndarray) -> tuple[float, np.ndarray]:
        logarithms = log_softmax(margins * (settings[0] / unit) + settings[1:], axis=1)
        residuals = (np.exp(logarithms) - wanted) / len(truth)
        slope: Any = np.sum(residuals * margins) / unit
        total = float(-np.mean(logarithms[rows, classes]))
        return total, np.concatenate([[slope], residuals.sum(axis=0)])

    start = np.concatenate([[unit], np.zeros(margins.shape[1])])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 300})
    return min(float(found.fun), log_loss(truth, margins))
