"""The sets of the comparison, and what is public of each."""

from pathlib import Path

import numpy as np
from harness import datasets
from harness.cases import CASES, Case, accuracy, split
from rivals.problem import Problem
from sklearn.datasets import load_svmlight_file
from sklearn.metrics import roc_auc_score

EPSILONS = (0.1, 1.0, 8.0)
UNBALANCED = ("w8a", "sms_spam")  # judged by the area under the ROC curve
NUMERIC = ("splice",)  # no entry is 0, so that presence would tell nothing
# Files of LIBSVM a user may have, and the highest published accuracy at epsilon 0.1.
FILES = {"rcv1": "rcv1_train.binary", "real-sim": "real-sim"}
PUBLISHED = {"rcv1": 0.749, "real-sim": 0.761}
SETS = (
    "a9a",
    "w8a",
    "phishing",
    "mushrooms",
    "splice",
    "kddcup99_10pct",
    "farm_ads",
    "sms_spam",
    "reuters21578_usa",
    "zipf",
    "imdb_uni",
    "news20_rebuilt",
    *FILES,
)
GOALS = {
    "reuters21578_usa": (0.78, 0.895, 0.92),
    "farm_ads": (0.64, 0.82, 0.885),
    "imdb_uni": (0.715, 0.842, 0.877),
    "news20_rebuilt": (0.64, 0.845, 0.93),
    "zipf": (0.52, 0.685, 0.775),
    "a9a": (0.84, 0.847, 0.85),
    "w8a": (0.79, 0.93, 0.96),
    "phishing": (0.92, 0.935, 0.94),
    "mushrooms": (0.94, 0.985, 0.997),
}
GOALS_OF_1000 = {("reuters21578_usa", 1.0): 0.895, ("imdb_uni", 8.0): 0.874}


def goal(name: str, epsilon: float) -> float | None:
    if name not in GOALS or epsilon not in EPSILONS:
        return None
    return GOALS[name][EPSILONS.index(epsilon)]


def measure(name: str) -> str:
    return "AUC" if name in UNBALANCED else "accuracy"


def case(name: str) -> Case:
    return CASES.get(name, Case(name, x_bound=None))


def load(name: str, files: dict[str, Path]) -> Problem | None:
    """The set with its split; None where it is not at hand."""
    halves = split(case(name), _from_file(name, files))
    if halves is None:
        return None
    judged = roc_auc_score if measure(name) == "AUC" else accuracy
    return Problem(name, *halves, judged)


def _from_file(name: str, files: dict[str, Path]) -> tuple | None:
    """Rows and labels of a LIBSVM file, given or in the data folder, plain or compressed."""
    if name not in FILES and name not in files:
        return None
    stem = datasets.folder() / FILES.get(name, name)
    places = [files[name]] if name in files else [stem, Path(f"{stem}.bz2")]
    for place in places:
        if place.is_file():
            X, y = load_svmlight_file(str(place))
            return X, (y > 0).astype(np.float64)
    if name in files:
        raise SystemExit(f"--file {name}: there is no file {files[name]}")
    return None
