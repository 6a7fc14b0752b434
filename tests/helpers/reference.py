"""Plain references with which the engine is compared."""

import importlib

import numpy as np
import scipy.sparse as sp
from scipy.stats import chi2

from dplasso.data import ColumnMatrix
from dplasso.kernels.problem import SCALE
from dplasso.losses import LogisticLoss, SoftmaxLoss, SquaredLoss

# The package's attribute of this name is the function.
solver = importlib.import_module("dplasso.solvers.frank_wolfe")

LOSSES = {
    "logistic": LogisticLoss(),
    "squared": SquaredLoss(y_bound=1.0),
    "huber": SquaredLoss(y_bound=1.0, residual_bound=0.5),
    "softmax": SoftmaxLoss(classes=(0, 1, 2)),
}


def make_problem(X, y, loss, *, radius=5.0, theta=0.1, step=0.0, x_bound=1.0):
    """The compiled loops' view of a problem."""
    matrix = ColumnMatrix.of(X, x_bound)
    return solver.problem_of(matrix, loss.encode(y), loss, radius, theta, step)


def make_walk(problem, rounds):
    return solver.empty_walk(problem, rounds)


def dense(problem):
    """The matrix of a problem, dense and in double precision."""
    ones = np.ones(len(problem.indices))
    values = ones if problem.values is None else problem.values.astype(np.float64)
    shape = (len(problem.labels), len(problem.indptr) - 1)
    return sp.csc_array((values, problem.indices, problem.indptr), shape=shape).toarray()


def margins(problem, walk):
    """True margins, rows x outputs."""
    return (walk.margins * walk.scalars[SCALE]).reshape(-1, problem.classes)


def scores(problem, walk, loss):
    """Every score at the present margins, by numpy, in the order of the vertices."""
    gradient = loss.gradient(margins(problem, walk), problem.labels)
    return (dense(problem).T.astype(float) @ gradient).ravel()


def law(alpha, theta):
    """Probabilities of (vertex, +) and (vertex, -), interleaved."""
    signed = theta * np.stack([alpha, -alpha], axis=1).ravel()
    weights = np.exp(signed - signed.max())
    return weights / weights.sum()


def outcome(vertex, sign):
    """Place of a signed vertex in `law`."""
    return 2 * vertex + (sign < 0)


def chi_square(counts, probabilities):
    """p-value of observed counts; cells with fewer than 5 expected are pooled."""
    expected = probabilities * counts.sum()
    order = np.argsort(expected)
    expected, counts = expected[order], counts[order]
    small = np.searchsorted(np.cumsum(expected), 5.0, side="left") + 1
    small = max(small, int(np.searchsorted(expected, 5.0)))
    expected = np.concatenate(([expected[:small].sum()], expected[small:]))
    counts = np.concatenate(([counts[:small].sum()], counts[small:]))
    if len(expected) < 2:
        return 1.0
    statistic = float(np.sum((counts - expected) ** 2 / expected))
    return float(chi2.sf(statistic, len(expected) - 1))


def weights_by_recursion(columns, signs, radius, size, step=None, steps=None):
    """w <- (1 - eta) w - eta radius sign e_j, one round after the other."""
    w = np.zeros(size)
    for t, (j, s) in enumerate(zip(columns, signs, strict=True), start=1):
        eta = steps[t - 1] if steps is not None else (step or 2.0 / (t + 2.0))
        w *= 1.0 - eta
        w[j] -= eta * radius * s
    return w


def l1_logistic(**options):
    """scikit-learn's LASSO for logistic loss, whose parameters differ between versions."""
    from sklearn import __version__
    from sklearn.linear_model import LogisticRegression

    recent = tuple(int(part) for part in __version__.split(".")[:2]) >= (1, 8)
    penalty = {"l1_ratio": 1.0} if recent else {"penalty": "l1"}
    return LogisticRegression(solver="liblinear", **penalty, **options)


def seeded(seed):
    """A fast generator for tests of laws."""
    return np.random.Generator(np.random.PCG64(seed))


def small(loss, rows=200, columns=12):
    """A dense corner, sparse columns, an empty one and two that are equal."""
    rng = seeded(1)
    X = rng.uniform(-1, 1, (rows, columns)) * (rng.random((rows, columns)) < 0.3)
    X[:, 0] = rng.uniform(0.5, 1.0, rows)
    X[:, 3] = 0.0
    X[:, 5] = X[:, 4]
    y = rng.integers(0, max(loss.outputs, 2), rows)
    return sp.csc_array(X), y
