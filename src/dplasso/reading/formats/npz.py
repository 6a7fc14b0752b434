"""Sparse matrices of ``scipy.sparse.save_npz``, with labels in a separate file."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplasso.base import memory
from dplasso.base.wording import ParameterError
from dplasso.data.columns import MOST_ROWS
from dplasso.data.merging import merged
from dplasso.reading.files import Files
from dplasso.reading.formats.base import Format
from dplasso.reading.npz import read_npy, read_npz
from dplasso.reading.options import ReadingOptions
from dplasso.reading.rows import Rows

_PREDICTED_BYTES = 128  # per row without entries: its margin, and its prediction as text


class NpzMatrix(Format):
    """The labels are those in ``labels``; a matrix to predict needs none."""

    name = "an .npz matrix"
    options = frozenset({"labels", "feature_names"})

    def recognises(self, path: Path) -> bool:
        return path.name.lower().endswith(".npz")

    def read(self, files: Files, options: ReadingOptions) -> Rows:
        path = files.one
        X, y = read_npz(path), _labels(options)
        if options.labelled and y is None:
            raise ParameterError("{path} has no labels; give a y.npy with {labels}", path=path)
        if y is not None and y.shape != X.shape[:1]:
            raise ParameterError(
                "{labels} does not have one label for each row of {path}; give the labels of "
                "these rows",
                path=path,
            )
        if X.shape[0] > MOST_ROWS:
            raise ValueError(f"{path} has more than {MOST_ROWS:,} rows; split it into parts")
        if y is None:  # a short file without labels can claim any number of rows
            memory.check_private_size(
                X.shape[0] * _PREDICTED_BYTES, f"predicting {path.name}", "split it into parts"
            )
        return Rows(merged(X, "csr"), y, names=options.names_of(X.shape[1]))


def _labels(options: ReadingOptions) -> NDArray[Any] | None:
    if options.labels is None or isinstance(options.labels, str | os.PathLike):
        return None if options.labels is None else read_npy(options.labels)
    return np.asarray(options.labels)
