"""How each set is used to measure accuracy: the bound on entries, the measure, the split."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score

from dplasso.data import ColumnMatrix
from harness import datasets


class Case(NamedTuple):
    """How a set is used: bound on entries (None: presence, bound 1), measure of success, how many
    of the first rows to train on (None: a random 80 %), how many rows to use at all."""

    data: str
    x_bound: float | None = 1.0
    measure: str = "accuracy"
    first: int | None = None
    most: int | None = None

    def judge(self, labels: np.ndarray, margins: np.ndarray) -> float:
        """The measure of success."""
        judged = roc_auc_score if self.measure == "AUC" else accuracy
        return float(judged(labels, margins))


CASES = {
    "a9a": Case("a9a"),
    "w8a": Case("w8a", measure="AUC"),
    "mushrooms": Case("mushrooms"),
    "phishing": Case("phishing"),
    "splice": Case("splice", 4.0),
    "kddcup99_10pct": Case("kddcup99_10pct", most=125_000),
    "sms_spam": Case("sms_spam", None),
    "farm_ads": Case("farm_ads", None),
    "reuters21578_usa": Case("reuters21578_usa", None),
    "reuters tf-idf .1": Case("reuters21578_usa", 0.1),
    "imdb_uni": Case("imdb_uni", None, first=25_000),
    "imdb tf-idf .1": Case("imdb_uni", 0.1, first=25_000),
    "news20_rebuilt": Case("news20_rebuilt", None),
    "news20 tf-idf .05": Case("news20_rebuilt", 0.05),
    "zipf": Case("zipf"),
}


class Rows(NamedTuple):
    """Rows to train and to test on; training rows are held in the engine's form."""

    train: ColumnMatrix
    train_labels: np.ndarray
    test: sp.csr_array
    test_labels: np.ndarray
    x_bound: float

    @property
    def majority(self) -> float:
        share = float(self.test_labels.mean())
        return max(share, 1.0 - share)


def split(case: Case, data: tuple | None = None) -> tuple | None:
    """Training rows, their labels, test rows and theirs, as they are; None where not at hand."""
    if data is not None:
        pass
    elif case.data == "zipf":
        # Words that are neither in most rows nor in next to none: without privacy .84 is reached.
        data = datasets.text_like(20_000, 47_000, 1_500_000, ranks=(200, 1_200))
    elif case.data == "zipf_frequent":
        data = datasets.text_like(20_000, 47_000, 1_500_000, ranks=(20, 2_000))
    else:
        data = datasets.real(case.data)
    if data is None:
        return None
    X, y = sp.csr_array(data[0]).astype(np.float32), data[1]
    apart = datasets.real(f"{case.data}.t")
    if apart is not None:
        return X, y, sp.csr_array(apart[0]).astype(np.float32), apart[1]
    order = np.arange(len(y))
    if case.first is None:
        order = np.random.default_rng(0).permutation(len(y))[: case.most]
    cut = case.first or int(0.8 * len(order))
    return X[order[:cut]], y[order[:cut]], X[order[cut:]], y[order[cut:]]


def bounded(X: sp.csr_array, x_bound: float | None) -> sp.csr_array:
    """Entries within the bound; presence where there is none."""
    X = X.copy()
    if x_bound is None:
        X.data = (X.data != 0).astype(np.float32)
        X.eliminate_zeros()
        return X
    X.data = np.clip(X.data, -x_bound, x_bound)
    return X


def load(case: Case) -> Rows | None:
    """The rows of a case; None where the set is not at hand."""
    halves = split(case)
    if halves is None:
        return None
    train, labels, test, test_labels = halves
    x_bound = 1.0 if case.x_bound is None else case.x_bound
    held = ColumnMatrix.of(bounded(train, case.x_bound), x_bound)
    return Rows(held, labels, bounded(test, case.x_bound), test_labels, x_bound)


def accuracy(labels: np.ndarray, margins: np.ndarray) -> float:
    """The share of rows whose margin has the sign of the label."""
    return float(np.mean((margins > 0) == (labels > 0)))
