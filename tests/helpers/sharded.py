"""Problems whose rows are in files, whole and cut into shards."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from dplasso import PrivateLassoClassifier, PrivateLassoRegressor, read_rows
from dplasso.cluster import Shards

N, D = 240, 1100  # more than 1,000 columns are wide


@dataclass
class Problem:
    """Rows, and the model that is fitted to them."""

    name: str
    X: Any
    y: Any
    parameters: dict[str, Any] = field(default_factory=dict)
    kind: type = PrivateLassoClassifier

    def model(self, **changes):
        known = {"epsilon": 3.0, "n_rows": N, "x_bound": 1.0, "random_state": 7}
        return self.kind(**(known | self.parameters | changes))

    @property
    def options(self):
        return {"n_features": self.X.shape[1]}

    def write(self, folder: Path, cut) -> Shards:
        """Write the rows of each part of ``cut`` to a file."""
        folder.mkdir()
        for k, rows in enumerate(cut):
            write_svmlight(folder / f"rows-{k}.svm", self.X[rows], self.y[rows])
        return Shards(folder, **self.options)

    def fitted(self, folder: Path, **changes):
        """The model of all rows in this process."""
        write_svmlight(folder / "all.svm", self.X, self.y)
        rows = read_rows(folder / "all.svm", **self.options)
        return self.model(**changes).fit(rows.described(), rows.y)


def write_svmlight(path: Path, X, y) -> None:
    X = sp.csr_array(X)
    with open(path, "w") as file:
        for k, label in enumerate(y.tolist()):
            places = slice(X.indptr[k], X.indptr[k + 1])
            entries = sorted(zip(X.indices[places].tolist(), X.data[places].tolist(), strict=True))
            file.write(" ".join([repr(label), *(f"{j + 1}:{v!r}" for j, v in entries)]) + "\n")


def problems() -> list[Problem]:
    rng = np.random.default_rng(5)
    X = sp.random_array((N, D), density=0.02, rng=rng, format="csr")
    margins = np.asarray((X[:, :300] - X[:, 300:600]).sum(axis=1)).ravel()
    y, numbers = (margins > 0.0).astype(int), np.clip(margins, -1.0, 1.0)
    thirds = np.digitize(margins, np.quantile(margins, [0.33, 0.67]))
    dense = np.round(rng.uniform(-1.0, 1.0, (N, 6)), 3)
    two = {"classes": [0, 1], "solver": "gradient"}
    of_dense = (dense[:, 0] > 0.1).astype(int)
    return [
        Problem("presence", X, y, two | {"row_map": "presence", "n_nonzero": None}),
        Problem("real values", X, y, two | {"row_map": "as_is", "n_nonzero": None}),
        Problem("softmax", X, thirds, two | {"classes": [0, 1, 2]}),
        Problem(
            "squared", X, numbers, {"solver": "gradient", "y_bound": 1.0}, PrivateLassoRegressor
        ),
        Problem("few nonzeros", X, y, two | {"n_nonzero": 40}),
        Problem("dense", dense, of_dense, two),
        Problem("table", dense, of_dense, {"classes": [0, 1], "solver": "table"}),
    ]


def table_problems() -> list[Problem]:
    """The same six kinds of problems, for the table solver."""
    rng = np.random.default_rng(6)
    ones = rng.integers(0, 2, (N, 8)).astype(float)
    real = np.round(rng.uniform(0.0, 1.0, (N, 8)), 3) * (rng.random((N, 8)) < 0.5)
    full = np.round(rng.uniform(-1.0, 1.0, (N, 8)), 3)
    margins = real[:, 0] - real[:, 1] + 0.3 * rng.normal(size=N)
    y, thirds = (margins > 0.0).astype(int), np.digitize(margins, [-0.2, 0.2])
    of_ones = (ones[:, 0] + rng.random(N) > 1.0).astype(int)
    of_full = (full[:, 0] + rng.normal(size=N) > 0.0).astype(int)
    table, two = {"solver": "table", "epsilon": 30.0}, {"classes": [0, 1]}
    bounded = {"x_bound": [(-1.0, 1.0)] * 8}
    numbers = {"y_bound": 1.0}
    clipped = np.clip(margins, -1.0, 1.0)
    return [
        Problem("presence", ones, of_ones, table | two),
        Problem("real values", real, y, table | two),
        Problem("softmax", real, thirds, table | {"classes": [0, 1, 2]}),
        Problem("squared", real, clipped, table | numbers, PrivateLassoRegressor),
        Problem("few nonzeros", real, y, table | two | {"n_nonzero": 5}),
        Problem("dense", full, of_full, table | two | bounded),
    ]


def ball_problems() -> list[Problem]:
    """Problems for Frank-Wolfe, whose columns are divided among shards."""
    found = {problem.name: problem for problem in problems()}
    for problem in found.values():
        problem.parameters = {
            **problem.parameters,
            **{"solver": "frank_wolfe", "epsilon": 30.0, "max_iter": 60, "row_map": "as_is"},
        }
        problem.parameters.pop("n_nonzero", None)
    found["dense"].parameters |= {"x_bound": [(-1.0, 1.0)] * 6, "fit_intercept": False}
    return [found[name] for name in ("real values", "softmax", "squared", "dense")]


def runs(parts: int) -> list[Any]:
    """The rows in files, in their order."""
    return np.array_split(np.arange(N), parts)


def cuts() -> dict[str, list[Any]]:
    """Ways to cut the rows: evenly, unevenly, and in another order."""
    order = np.random.default_rng(1).permutation(N)
    return {
        "one": [np.arange(N)],
        "two": [np.arange(N // 2), np.arange(N // 2, N)],
        "uneven": [order[:3], order[3:50], order[50:51], order[51:]],
    }


def assert_same(one, other) -> None:
    """Two fits agree to the last bit, in what they release and in what they state."""
    for mine, theirs in ((one.coef_, other.coef_), (one.intercept_, other.intercept_)):
        assert np.array_equal(sp.csr_array(np.atleast_2d(mine)).toarray(), np.atleast_2d(theirs))
    assert one.privacy_ == other.privacy_


# Of a table with people, a range and a hashed column.
SCHEMA = """
[columns.person]
role = "person"
[columns.age]
role = "number"
low = 0
high = 100
[columns.town]
role = "hashed"
buckets = 16
[columns.label]
role = "target"
classes = ["no", "yes"]
"""
