"""Rows for audits of a stream."""

import numpy as np

from dplasso.audit.facts import Claim
from dplasso.audit.synthetic import Table, random_labels

_SIZES = (0.0, 1e-12, 0.1, 1.0, 30.0, 1e6)


def random_rows(rows: int, columns: int, facts: Claim, rng: np.random.Generator) -> Table:
    """Rows that are empty, tiny, of length about 1 or huge, with one, a few, or all entries."""
    size = rng.choice(_SIZES, (rows, 1)) / np.sqrt(columns)
    filled = rng.random((rows, columns)) < rng.choice([1.0 / columns, 0.3, 1.0], (rows, 1))
    X = rng.normal(size=(rows, columns)) * size * filled
    return X, random_labels(rows, facts, rng)
