"""Compile the engine's loops ahead of time: ``python -m dplasso.warm``.

Compiled code is kept on disk. Running this once after an installation, or after a change of the
kernels, spares the first fit the wait.
"""

import math
import tempfile
import time
from pathlib import Path
from typing import Any, get_args

import numpy as np
import scipy.sparse as sp

import dplasso
from dplasso import kernels, losses
from dplasso.data import columns
from dplasso.data.merging import merged
from dplasso.data.row_medians import entries_of, row_medians
from dplasso.data.unit_rows import Scaling, UnitRows
from dplasso.federated import agree, simulate
from dplasso.fitting.row_margins import RowMargins
from dplasso.fitting.row_reader import RowReader
from dplasso.mechanisms.random_bits import random_bits
from dplasso.mechanisms.selection.lazy_tiers import LONG_COLUMN
from dplasso.reading import read_rows, svmlight_chunks
from dplasso.solvers.few import ColumnScores, choose, plan_few
from dplasso.solvers.gradient import gradient_descent, plan_descent
from dplasso.storage import build_store
from dplasso.streams import running_sum


def drop_stale() -> None:
    """Remove compiled code older than any kernel or loss.

    numba's cache looks at the file a function stands in, not at those of the functions it calls.
    """
    folders = [Path(kernels.__file__).parent, Path(losses.__file__).parent]
    sources = [source for folder in folders for source in folder.rglob("*.py")]
    newest = max(source.stat().st_mtime for source in sources)
    for folder in folders:
        for compiled in folder.rglob("__pycache__/*.nb[ic]"):
            if compiled.stat().st_mtime < newest:
                compiled.unlink(missing_ok=True)


def warm() -> None:
    """Read and fit a little of what people start with: sparse, dense and 0/1 data, both laws, and
    one column so long that its score is another matter."""
    rng = np.random.default_rng(0)
    for known in losses.CLASS_LOSSES.values():
        known.two_classes().compiled()
    losses.SquaredLoss(1.0).compiled()
    X = sp.random_array((100, 5), density=0.5, rng=rng, format="csc")
    ones = X.copy()
    ones.data = np.ones_like(ones.data)
    long = np.ones((LONG_COLUMN + 1, 1))
    for data in (X, X.astype(np.float32), ones, long):
        y = np.arange(data.shape[0]) % 2
        # The standard rule helps the lazy one out where many classes share columns.
        for theta, selection in ((0.1, "lazy"), (0.1, "noisy_max"), (math.inf, "lazy")):
            dplasso.frank_wolfe(
                data,
                y,
                loss=dplasso.LogisticLoss(),
                radius=1.0,
                rounds=5,
                theta=theta,
                selection=selection,
                generator=random_bits(),
            )
    for data in (X, X.astype(np.float32)):
        row_medians(entries_of(data))
    merged(sp.coo_array((np.ones(2), ([0, 0], [0, 0])), shape=(1, 1)), "csr")
    for reader in (
        RowReader("presence", 5, 1.0, unit_rows=True),
        RowReader("as_is", 5, 1.0, unit_rows=True),
        RowReader("as_is", 5, np.array([[0.0, 1.0]] * 5), cuts=True),
        RowReader("as_is", 5, 1.0),
    ):
        margins = RowMargins.of(reader, sp.csr_array(np.ones((1, 5))), np.zeros(1))
        for rows in (X.tocsr(), X.tocsr().astype(np.float32), X.toarray()):  # to predict
            margins(rows)
    loss = dplasso.LogisticLoss()
    plan = plan_descent(loss, epsilon=1.0, delta=1e-6, n_rows=100, n_columns=5)
    y = np.arange(100) % 2
    for data in (X, X.astype(np.float32), ones):
        columns.turned(data.tocsr())  # as large matrices are
        for scaling in get_args(Scaling):
            gradient_descent(data, y, loss=loss, plan=plan, scaling=scaling)
            few = plan_few(loss, epsilon=1.0, delta=1e-6, n_rows=100, n_chosen=1)
            choose(ColumnScores.of(UnitRows.of(data, scaling), y, loss, few), few, random_bits())
    bounds: dict[str, Any] = {"x_bounds": {"one": 1.0}, "y_bound": 1.0}
    terms = agree({"one": 5}, "one", n_rows=100, epsilon=1.0, delta=1e-6, rounds=2, **bounds)
    simulate(terms, {"one": X}, y)
    running_sum(5, sensitivity=1.0, window=5, rho=1.0, construction="band").add(np.zeros(5))
    for domain in ("l2", "l1", "simplex", "box"):
        for learner in ("projection", "oracle"):
            stream = dplasso.PrivateOnlineClassifier(
                window=5, classes=[0, 1], domain=domain, learner=learner
            )
            stream.partial_fit(X.tocsr(), y).predict(X.tocsr())
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "rows.svm"
        text.write_text("1 1:0.5 3:1e-3\n0 2:0.25\n" * 2)
        chunks = svmlight_chunks(text, n_features=3, zero_based=False)
        build_store(Path(folder) / "rows.dpc", chunks, 3, memory=1 << 27)
        read_rows(text, n_features=3)


def main() -> None:
    start = time.monotonic()
    drop_stale()
    warm()
    print(f"compiled loops are ready ({time.monotonic() - start:.0f} s)")


if __name__ == "__main__":
    main()
