"""What the benchmarks of federations share: sets split by columns, generated rows, rivals."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from comparison import splits
from rivals.problem import presence

from dplasso import PrivateLassoRegressor
from dplasso.federated import Outcome, Terms, agree, simulate

RADIUS = 5.0
# Of jobs on generated rows.
EPSILON, DELTA, PARTIES = 3.0, 1e-9, 3
SETS = ("a9a", "kddcup99_10pct", "reuters21578_usa")


class Task(NamedTuple):
    """Rows of 0 and 1, labels of -1 and 1, to train and to test on."""

    name: str
    train: sp.csc_array
    labels: np.ndarray
    test: sp.csc_array
    test_labels: np.ndarray

    @property
    def delta(self) -> float:
        return float(len(self.labels)) ** -2.0

    @property
    def majority(self) -> float:
        share = float(np.mean(self.test_labels > 0))
        return max(share, 1.0 - share)

    def accuracy(self, margins: np.ndarray) -> float:
        return float(np.mean(np.where(margins > 0, 1.0, -1.0) == self.test_labels))


def real(name: str) -> Task | None:
    """A real set as presence; None where it is not at hand."""
    problem = splits.problem(name)
    if problem is None:
        return None
    train, test = (
        sp.csc_array(presence(half), dtype=np.float64) for half in (problem.train, problem.test)
    )
    labels, test_labels = (
        np.where(np.asarray(each) > 0, 1.0, -1.0) for each in (problem.labels, problem.test_labels)
    )
    return Task(name, train, labels, test, test_labels)


def generated(n: int, seed: int, features: int = 60, informative: int = 6) -> Task:
    """Fair coins; labels follow a few of them, and the rest is noise. 10,000 rows to test on."""
    rng = np.random.default_rng(seed)
    weights = np.zeros(features)
    chosen = rng.choice(features, informative, replace=False)
    weights[chosen] = rng.choice([-1.0, 1.0], informative) * np.linspace(1.0, 0.5, informative)
    X = rng.integers(0, 2, (n + 10_000, features), dtype=np.int8).astype(np.float64)
    margins = (X - 0.5) @ weights + 0.25 * rng.normal(size=len(X))
    y = np.where(margins > 0, 1.0, -1.0)
    return Task(f"generated {n}", X[:n], y[:n], X[n:], y[n:])


def split(X, parties: int, seed: int) -> dict:
    """Columns dealt out at random, evenly."""
    owner = np.random.default_rng(seed).permutation(X.shape[1]) % parties
    return {f"p{k}": X[:, np.nonzero(owner == k)[0]] for k in range(parties)}


def federate(
    task: Task, parties: int, epsilon: float, seed: int, watch=None, **more
) -> tuple[Terms, Outcome]:
    """One job on default terms."""
    blocks = split(task.train, parties, seed)
    terms = agree(
        {name: block.shape[1] for name, block in blocks.items()},
        "p0",
        n_rows=len(task.labels),
        epsilon=epsilon,
        delta=more.pop("delta", task.delta),
        seed=seed,
        **more,
    )
    return terms, simulate(terms, blocks, task.labels, random_state=seed, watch=watch)


def centralised(task: Task, epsilon: float, delta: float, seed: int) -> PrivateLassoRegressor:
    """The engine on all columns at one place: the same loss, radius and budget."""
    model = PrivateLassoRegressor(
        epsilon,
        delta,
        radius=RADIUS,
        solver="frank_wolfe",
        x_bound=1.0,
        y_bound=1.0,
        n_rows=len(task.labels),
        random_state=seed,
    )
    return model.fit(task.train, task.labels)
