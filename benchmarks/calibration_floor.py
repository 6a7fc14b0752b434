"""How small a calibration error can be: of a model without privacy, and of a perfect one.

    python benchmarks/calibration_floor.py [--sets telco_churn,letter] [--seeds 10]

The splits are those of accuracy.py. *not private* is the expected calibration error of
scikit-learn's LogisticRegression, in 15 bins of the probability of the predicted class. *perfect*
is the error on the same test rows if their labels were drawn from that model's own probabilities:
what is left is chance. *recalibrated* is the model without privacy after the best scale and
intercepts, found on the test rows. Prints a table and saves it as
benchmarks/results/calibration_floor.txt.
"""

import argparse
from unittest.mock import patch

import numpy as np
from comparison import references, splits
from harness import measures
from harness.intervals import interval
from harness.machine import machine
from harness.options import allow_seeds, names, parser
from harness.results import save
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

SETS = ("adult", "telco_churn", "letter")
DRAWS = 20  # of labels per split


def options() -> argparse.Namespace:
    command = parser(__doc__)
    command.add_argument("--sets", type=names, default=list(SETS), help="with commas")
    command.add_argument("--seeds", type=int, default=10)
    return command.parse_args()


def measured(name: str, seed: int) -> dict[str, float]:
    """The errors on one split."""
    split = splits.load(name, seed)
    if split is None:
        raise SystemExit(f"{name} is not in the data folder")
    margins = _margins(split)
    shares, rng = softmax(margins, axis=1), np.random.default_rng(seed)
    below = shares.cumsum(axis=1)[:, :-1]
    drawn = [(rng.random((len(below), 1)) > below).sum(axis=1) for _ in range(DRAWS)]
    error = measures.calibration_error
    return {
        "rows": len(split.truth),
        "not private": error(split.truth, shares),
        "recalibrated": error(split.truth, softmax(_recalibrated(split.truth, margins), axis=1)),
        "perfect": float(np.mean([error(labels, shares) for labels in drawn])),
    }


def _margins(split: splits.Split) -> np.ndarray:
    """Margins of the model without privacy for the test rows, one column per class."""
    found: list[np.ndarray] = []
    usual = measures.of_margins

    def noted(truth: np.ndarray, margins: np.ndarray, measure: str) -> dict[str, float]:
        found.append(margins)
        return usual(truth, margins, measure)

    with patch.object(measures, "of_margins", noted):
        references.not_private(split, "accuracy")
    last = found[-1]  # the others were judged on rows held out of the training rows
    return last if last.ndim == 2 else np.column_stack([np.zeros(len(last)), last])


def _recalibrated(truth: np.ndarray, margins: np.ndarray) -> np.ndarray:
    """Margins times the scale, plus the intercepts, of least log-loss on these rows."""
    classes = margins.shape[1]
    wanted = np.eye(classes)[truth.astype(np.intp)]

    def loss(at: np.ndarray) -> tuple[float, np.ndarray]:
        logarithms = log_softmax(at[0] * margins + at[1:], axis=1)
        residuals = (np.exp(logarithms) - wanted) / len(truth)
        slopes = np.append(np.sum(residuals * margins), residuals.sum(axis=0))
        return float(-np.sum(wanted * logarithms) / len(truth)), slopes

    at = minimize(loss, np.append(1.0, np.zeros(classes)), jac=True, method="L-BFGS-B").x
    found: np.ndarray = at[0] * margins + at[1:]
    return found


def main() -> None:
    given = options()
    allow_seeds()
    lines = ["set          test rows  not private     recalibrated    perfect"]
    for name in given.sets:
        found = [measured(name, seed) for seed in range(given.seeds)]
        cells = []
        for kind in ("not private", "recalibrated", "perfect"):
            mean = interval([one[kind] for one in found])
            cells.append(f"{mean['mean']:.4f} +-{mean['half']:.4f}")
        lines.append(f"{name:<12} {found[0]['rows']:>9,}  {'  '.join(cells)}")
        print(lines[-1], flush=True)
    lines.append(f"\n+- half the 95 % interval of the mean over {given.seeds} splits. {machine()}")
    save("calibration_floor", "\n".join(lines))


if __name__ == "__main__":
    main()
