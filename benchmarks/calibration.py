"""Can probabilities be used? Log-loss and calibration error of every solver, on test rows.

    python benchmarks/calibration.py [--sets a9a,imdb_uni,20_newsgroups] [--epsilons 0.1,1,8]
        [--seeds 3] [--solvers auto,gradient,frank_wolfe]

Saves calibration.txt and calibration.json under benchmarks/results. Every model is as it comes:
classes, rows and bounds other than 1 are declared, delta is 1e-6. *excess* is the log-loss
less that of the best scale and intercepts for the same margins, found on the test rows. *before* is
the excess of the solver's own margins, without the correction. *constant* is the log-loss of the
shares of the training labels. *ece* is the expected calibration error: 15 bins of the probability
of the predicted class. *moved* is the accuracy less that of the solver's own margins. "auto-30"
keeps 30 coefficients, and "auto-3" keeps 3, whose columns are selected first.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from comparison.splits import Split, load
from comparison.table import aligned
from harness import measures
from harness.machine import machine
from harness.options import allow_seeds, names, study
from harness.results import save

from dplasso import PrivateLassoClassifier

DELTA = 1e-6
SETS = ("a9a", "w8a", "reuters21578_usa", "sms_spam", "imdb_uni")
SOLVERS: dict[str, dict[str, Any]] = {
    "auto": {},
    "table": {"solver": "table"},
    "gradient": {"solver": "gradient"},
    "frank_wolfe": {"solver": "frank_wolfe"},
    "auto-30": {"n_nonzero": 30},
    "auto-3": {"n_nonzero": 3},
}


def with_both(margins: np.ndarray) -> np.ndarray:
    """One margin per class, also for two classes."""
    return np.column_stack([np.zeros(len(margins)), margins]) if margins.ndim == 1 else margins


def measure(rows: Split, solver: str, epsilon: float, seed: int) -> dict[str, Any]:
    """One fit."""
    model = PrivateLassoClassifier(
        epsilon,
        DELTA,
        classes=list(range(rows.n_classes)),
        n_rows=len(rows.labels),
        random_state=seed,
        **{**rows.declared, **SOLVERS[solver]},
    ).fit(rows.train, rows.labels.astype(int))
    found, correction = model.decision_function(rows.test), model.fitted_.correction
    margins, own = with_both(found), None
    if correction is not None:
        shifts = correction.shifts[0] if found.ndim == 1 else correction.shifts
        own = with_both((found - shifts) / correction.scale)
    truth = rows.truth.astype(int)
    loss, best = measures.log_loss(truth, margins), measures.recalibrated_log_loss(truth, margins)
    shares = np.bincount(rows.labels.astype(int), minlength=rows.n_classes) / len(rows.labels)
    accuracy = measures.success(truth, margins, "accuracy")
    return {
        "solver": model.solver_,
        "log_loss": loss,
        "excess": loss - best,
        "before": float("nan") if own is None else measures.log_loss(truth, own) - best,
        "constant": -float(np.log(shares[truth]).mean()),
        "ece": measures.calibration_error(truth, model.predict_proba(rows.test)),
        "accuracy": accuracy,
        "majority": float(np.mean(truth == shares.argmax())),
        "moved": 0.0 if own is None else accuracy - measures.success(truth, own, "accuracy"),
    }


def cells(chosen: list[str], solvers: list[str]) -> Iterator[tuple[str, Split, str]]:
    for name in chosen:
        rows = load(name, seed=0)
        if rows is None:
            print(f"{name} is not at hand")
            continue
        for solver in solvers:
            wide = rows.train.shape[1] > 1000
            if solver.startswith("auto-") and (rows.n_classes > 2 or not wide):
                continue  # few of few columns are no case of their own
            if solver != "table" or not wide:
                yield name, rows, solver


NUMBERS = ("log_loss", "excess", "before", "constant", "ece", "accuracy", "majority", "moved")


def main() -> None:
    command = study(__doc__, SETS, (0.1, 1.0, 8.0), 3)
    command.add_argument("--solvers", type=names, default=["auto", "gradient", "frank_wolfe"])
    options = command.parse_args()
    allow_seeds()
    found = []
    for name, rows, solver in cells(options.sets, options.solvers):
        for epsilon in options.epsilons:
            fits = [measure(rows, solver, epsilon, seed) for seed in range(options.seeds)]
            means = {what: float(np.mean([fit[what] for fit in fits])) for what in NUMBERS}
            row = {"set": name, "rows": len(rows.labels), "asked": solver, "epsilon": epsilon}
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
