"""dFW (Bellet et al., 2015): distributed Frank-Wolfe that shares raw columns. NOT PRIVATE.

Every round each party names its steepest feature and its slope; the party with the steepest of all
sends that column, unless it was sent before, and all move towards the vertex, as far as is best:
with squared loss everybody can compute that from what was sent.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

SLOPE_BYTES = 4 + 8  # an index and a number
ENTRY_BYTES = 4


class Point(NamedTuple):
    """Weights after a round, in the order of the blocks' columns, and bytes sent so far."""

    weights: np.ndarray
    uplink: int


def distributed_frank_wolfe(
    blocks: Mapping[str, np.ndarray], y: np.ndarray, radius: float, rounds: int
) -> Iterator[Point]:
    """Minimise the mean of (prediction - y)^2 / 2 over the L1 ball. Columns and y are centred."""
    starts = np.cumsum([0, *(block.shape[1] for block in blocks.values())])
    weights, residual = np.zeros(starts[-1]), -y.astype(np.float64)
    shared: set[int] = set()
    uplink = 0
    for _ in range(rounds):
        slopes = np.concatenate([block.T @ residual for block in blocks.values()])
        best = int(np.argmax(np.abs(slopes)))
        owner = int(np.searchsorted(starts, best, side="right")) - 1
        column = list(blocks.values())[owner][:, best - starts[owner]]
        uplink += SLOPE_BYTES * len(blocks)
        if best not in shared:
            shared.add(best)
            uplink += ENTRY_BYTES * len(y)
        vertex = -radius * np.sign(slopes[best])
        change = vertex * column - y - residual
        step = float(np.clip(-(residual @ change) / (change @ change), 0.0, 1.0))
        weights *= 1.0 - step
        weights[best] += step * vertex
        residual += step * change
        yield Point(weights.copy(), uplink)
