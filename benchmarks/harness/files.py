"""svmlight files of the benchmarks, kept under the system's temporary folder."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.datasets import dump_svmlight_file

from harness import datasets

SET = "news20_rebuilt"
FOLDER = Path(tempfile.gettempdir()) / "dplasso-reading"


def cached(path: Path, make: Callable[[Path], None]) -> Path:
    """The file, made if it is not there; never half of it."""
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        unfinished = path.with_name("unfinished-" + path.name)
        make(unfinished)
        unfinished.rename(path)
    return path


def dump(path: Path) -> None:
    """Write `SET` as scikit-learn does."""
    X, y = datasets.real(SET)
    dump_svmlight_file(X.tocsr(), y, str(path), zero_based=False)


def same(ours, theirs) -> bool:
    """Equal to the last bit; scikit-learn may use wider indices."""
    (X, y), (A, b) = ours, theirs
    return (
        X.shape == A.shape
        and np.array_equal(X.indptr, A.indptr)
        and np.array_equal(X.indices, A.indices)
        and X.data.tobytes() == A.data.tobytes()
        and y.tobytes() == b.tobytes()
    )
