"""The law of a released bound on entries in plain numpy, with which the product is compared."""

import numpy as np

from dplasso.audit.facts import Claim
from dplasso.base.arrays import Floats

CANDIDATES = 2.0 ** (np.arange(-40, 41) / 2.0)
SHARE = 0.1  # target share of rows whose typical entry is below the bound


def sizes_of_rows(X: Floats) -> Floats:
    """The lower median of the sizes of each row's entries; empty rows have none."""
    sizes = [np.sort(np.abs(row[row != 0.0])) for row in X]
    return np.array([row[(len(row) - 1) // 2] for row in sizes if len(row)])


def law_of_bound(X: Floats, epsilon: float, facts: Claim) -> Floats:
    """Probabilities of the candidates, for a draw whose bounded range is ``epsilon``.

    A candidate's loss is the number of rows by which the count below it is too large, or the count
    below the next candidate too small. Replacing a row changes the losses within a range of 2,
    adding or removing one within a range of 1.8.
    """
    sizes = sizes_of_rows(X)
    below = np.array([np.sum(sizes < candidate) for candidate in CANDIDATES[1:]])
    excess = np.concatenate([[0.0], below, [len(sizes)]]) - SHARE * len(sizes)
    losses = np.maximum(np.maximum(excess[:-1], -excess[1:]), 0.0)
    widest = 2.0 if facts.rows_changed == 2 else 2.0 * max(SHARE, 1.0 - SHARE)
    weights = np.exp((losses.min() - losses) * epsilon / widest)
    law: Floats = weights / weights.sum()
    return law
