"""Can probabilities be used? Log-loss and calibration error of every solver, on test rows.

    python benchmarks/calibration.py [--sets a9a,imdb_uni,newsgroups] [--epsilons 0.1,1,8]
        [--seeds 3] [--solvers auto,gradient,frank_wolfe]

Saves calibration.txt and calibration.json under benchmarks/results. Every model is as it comes:
classes, rows and a bound of 1 (or of the set) are declared, delta is 1e-6. *excess* is the log-loss
less that of the best scale and intercepts for the same margins, found on the test rows. *before* is
the excess of the solver's own margins, without the correction. *constant* is the log-loss of the
shares of the training labels. *ece* is the expected calibration error: 15 bins of the probability
of the predicted class. *moved* is the accuracy less that of the solver's own margins. "auto-30"
keeps 30 coefficients, and "auto-3" keeps 3, whose columns are selected first.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import newsgroups
import numpy as np
import scipy.sparse as sp
from comparison.table import aligned
from harness import cases, tables
from harness.machine import machine
from harness.options import allow_seeds, names, study
from harness.results import save
from scipy.optimize import minimize
from scipy.special import log_softmax

from dplasso import PrivateLassoClassifier

DELTA = 1e-6
BINS = 15
SETS = ("a9a", "w8a", "reuters21578_usa", "sms_spam", "imdb_uni")
SOLVERS: dict[str, dict[str, Any]] = {
    "auto": {},
    "table": {"solver": "table"},
    "gradient": {"solver": "gradient"},
    "frank_wolfe": {"solver": "frank_wolfe"},
    "auto-30": {"n_nonzero": 30},
    "auto-3": {"n_nonzero": 3},
}


class Data(NamedTuple):
    """Rows to train and to test on, numbers of classes as labels, and what is declared."""

    train: Any
    labels: np.ndarray
    test: Any
    test_labels: np.ndarray
    declared: dict[str, Any]

    @property
    def classes(self) -> int:
        return int(self.labels.max()) + 1


def load(name: str) -> Data | None:
    """A set; None where it is not at hand."""
    if name == "newsgroups":
        articles = newsgroups.load()
        if articles is None:
            return None
        rows = newsgroups.split(articles)
        known = np.array(articles.names)
        labels = (np.searchsorted(known, part) for part in (rows.train_groups, rows.test_groups))
        train_labels, test_labels = labels
        return Data(rows.train, train_labels, rows.test, test_labels, {"x_bound": 1.0})
    if name in tables.SCHEMAS:
        table = tables.load(name)
        if table is None:
            return None
        train, test = table.halves(0)
        return Data(
            *(table.X[train], table.y[train], table.X[test], table.y[test]),
            {"x_bound": table.ranges},
        )
    case = cases.CASES[name]
    halves = cases.split(case)
    if halves is None:
        return None
    X, y, X_test, y_test = halves
    declared: dict[str, Any] = {"x_bound": case.x_bound or 1.0}
    if case.x_bound is None:
        declared["row_map"] = "presence"
    return Data(sp.csc_array(X), y.astype(int), X_test, y_test.astype(int), declared)


def with_both(margins: np.ndarray) -> np.ndarray:
    """One margin per class, also for two classes."""
    return np.column_stack([np.zeros(len(margins)), margins]) if margins.ndim == 1 else margins


def log_loss(margins: np.ndarray, labels: np.ndarray) -> float:
    return -float(log_softmax(margins, axis=1)[np.arange(len(labels)), labels].mean())


def best_log_loss(margins: np.ndarray, labels: np.ndarray) -> float:
    """The least log-loss of margins times a scale plus intercepts."""
    apart = margins - margins.mean(axis=1, keepdims=True)
    unit = max(float(np.sqrt(np.mean(apart**2))), 1e-12)
    hot = labels[:, None] == np.arange(margins.shape[1])

    def loss(at: np.ndarray) -> tuple[float, np.ndarray]:
        logs = log_softmax(at[0] * apart / unit + at[1:], axis=1)
        slopes = (np.exp(logs) - hot) / len(labels)
        slope = np.append(np.sum(slopes * apart / unit), slopes.sum(axis=0))
        return -float(logs[hot].mean()), slope

    start = np.append(unit, np.zeros(margins.shape[1]))
    return float(minimize(loss, start, jac=True, method="L-BFGS-B").fun)


def calibration_error(margins: np.ndarray, labels: np.ndarray) -> float:
    """Mean distance of the probability of the predicted class from how often it is right."""
    sure = np.exp(log_softmax(margins, axis=1)).max(axis=1)
    right = margins.argmax(axis=1) == labels
    places = np.minimum((sure * BINS).astype(int), BINS - 1)
    sums = np.bincount(places, sure - right, BINS)
    return float(np.abs(sums).sum() / len(labels))


def accuracy(margins: np.ndarray, labels: np.ndarray) -> float:
    return float(np.mean(margins.argmax(axis=1) == labels))


def measure(data: Data, solver: str, epsilon: float, seed: int) -> dict[str, Any]:
    """One fit."""
    model = PrivateLassoClassifier(
        epsilon,
        DELTA,
        classes=list(range(data.classes)),
        n_rows=len(data.labels),
        random_state=seed,
        **{**data.declared, **SOLVERS[solver]},
    ).fit(data.train, data.labels)
    found, correction = model.decision_function(data.test), model.fitted_.correction
    margins, own = with_both(found), None
    if correction is not None:  # the table solver's own correction is a part of it
        shifts = correction.shifts[0] if found.ndim == 1 else correction.shifts
        own = with_both((found - shifts) / correction.scale)
    labels, best = data.test_labels, best_log_loss(margins, data.test_labels)
    shares = np.bincount(data.labels, minlength=data.classes) / len(data.labels)
    return {
        "solver": model.solver_,
        "log_loss": log_loss(margins, labels),
        "excess": log_loss(margins, labels) - best,
        "before": float("nan") if own is None else log_loss(own, labels) - best,
        "constant": -float(np.log(shares[labels]).mean()),
        "ece": calibration_error(margins, labels),
        "accuracy": accuracy(margins, labels),
        "majority": float(np.mean(labels == shares.argmax())),
        "moved": 0.0 if own is None else accuracy(margins, labels) - accuracy(own, labels),
    }


def cells(chosen: list[str], solvers: list[str]) -> Iterator[tuple[str, Data, str]]:
    for name in chosen:
        data = load(name)
        if data is None:
            print(f"{name} is not at hand")
            continue
        for solver in solvers:
            wide = data.train.shape[1] > 1000
            if solver.startswith("auto-") and (data.classes > 2 or not wide):
                continue  # few of few columns are no case of their own
            if solver != "table" or not wide:
                yield name, data, solver


NUMBERS = ("log_loss", "excess", "before", "constant", "ece", "accuracy", "majority", "moved")


def main() -> None:
    command = study(__doc__, SETS, (0.1, 1.0, 8.0), 3)
    command.add_argument("--solvers", type=names, default=["auto", "gradient", "frank_wolfe"])
    options = command.parse_args()
    allow_seeds()
    found = []
    for name, data, solver in cells(options.sets, options.solvers):
        for epsilon in options.epsilons:
            fits = [measure(data, solver, epsilon, seed) for seed in range(options.seeds)]
            means = {what: float(np.mean([fit[what] for fit in fits])) for what in NUMBERS}
            row = {"set": name, "rows": len(data.labels), "asked": solver, "epsilon": epsilon}
            found.append({**row, "solver": fits[0]["solver"], "seeds": len(fits), **means})
            print(found[-1], flush=True)
    head = ["set", "rows", "solver", "epsilon", *NUMBERS]
    body = [
        [
            *(row["set"], f"{row['rows']:,}", _named(row), f"{row['epsilon']:g}"),
            *("-" if np.isnan(row[what]) else f"{row[what]:.4f}" for what in NUMBERS),
        ]
        for row in found
    ]
    seeds = f"Means of {options.seeds} seeds; delta 1e-6. {machine()}"
    text = "\n".join([__doc__.split("\n\n")[2], "", seeds, "", aligned([head, *body], {0, 2})])
    save("calibration", text, found)


def _named(row: dict[str, Any]) -> str:
    same = row["asked"] == row["solver"]
    return row["asked"] if same else f"{row['asked']} ({row['solver']})"


if __name__ == "__main__":
    main()
