"""Files, options and answers that tests of the command line share."""

import csv
import gzip
import subprocess
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import scipy.sparse as sp

from dplasso import PrivateLassoClassifier, PrivateLassoRegressor
from dplasso.privacy import leaks
from dplasso.reading.plans import TablePlan

COMMAND = Path(sys.executable).with_name("dplasso")
ROWS, COLUMNS = 300, 40
FEW = ("--max-iter", 15, "--radius", 5)
KNOWN = ("--classes", "-1,1", "--rows", ROWS, *FEW)
DECLARED = ("--features", COLUMNS, *KNOWN)
SECRET = "61.80339"  # occurs in broken lines, and must not occur in messages about them


class Done(NamedTuple):
    code: int
    out: str
    err: str


def subprocess_of(*arguments, **options):
    done = subprocess.run(
        [COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=120, **options
    )
    return Done(done.returncode, done.stdout, done.stderr)


def problem(kind="binary", rows=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    X = sp.random_array((rows, COLUMNS), density=0.2, rng=rng, format="csr")
    X.data = np.round(2 * X.data - 1, 3)
    X.eliminate_zeros()  # a store does not keep them
    margins = X @ np.linspace(-3, 3, COLUMNS)
    if kind == "binary":
        return X, np.where(margins > 0, 1.0, -1.0)
    if kind == "three":
        return X, np.digitize(margins, [-0.5, 0.5]).astype(float)
    return X, np.round(margins / 10, 3)


def write_svmlight(path, X, y, base=1):
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt") as file:
        for k in range(X.shape[0]):
            row = slice(X.indptr[k], X.indptr[k + 1])
            pairs = zip(X.indices[row] + base, X.data[row], strict=True)
            file.write(" ".join([f"{y[k]:g}", *(f"{j}:{float(v)!r}" for j, v in pairs)]) + "\n")
    return path


PEOPLE = {
    "--target": "sick",
    "--bounds": "age=0:120",
    "--hash": "town=16",
    "--text": "note",
    "--buckets": 64,
    "--ignore": "id",
    "--missing": "age",
}
TABLE = [part for pair in PEOPLE.items() for part in pair]
PLAN = TablePlan(
    target="sick",
    bounds={"age": (0.0, 120.0)},
    hashed={"town": 16},
    buckets=64,
    text=("note",),
    ignore=("id",),
    missing=("age",),
    classes=("no", "yes"),
)


def people(rows=200, seed=0):
    rng = np.random.default_rng(seed)
    towns, words = ["Ulm", "Bern", "Graz"], ["cough", "fever", "well", "tired"]
    return [
        {
            "id": str(k),
            "age": str(rng.integers(0, 100)),
            "town": towns[rng.integers(3)],
            "note": " ".join(rng.choice(words, 2)),
            "sick": "yes" if rng.random() < 0.5 else "no",
        }
        for k in range(rows)
    ]


def write_table(path, rows):
    if path.suffix == ".parquet":
        table = pa.Table.from_pylist([{**row, "age": float(row["age"])} for row in rows])
        pyarrow.parquet.write_table(table, path)
        return path
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


def python_fit(kind, X, y, seed=3, **options):
    made = PrivateLassoRegressor if kind == "regression" else PrivateLassoClassifier
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", leaks.PrivacyLeakWarning)
        return made(1.0, max_iter=15, radius=5.0, random_state=seed, **options).fit(X, y)


def assert_same_model(ours, theirs):
    assert np.array_equal(ours.vertices_, theirs.vertices_)
    assert np.array_equal(ours.fitted_.weights.toarray(), theirs.fitted_.weights.toarray())
    assert np.array_equal(ours.intercept_, theirs.intercept_)
