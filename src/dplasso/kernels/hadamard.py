"""The fast Walsh-Hadamard transform, and sums that connect a sketch with its rows."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def transform(vector: np.ndarray) -> None:
    """Multiply by the matrix of signs (-1)^(bits that i and j share), in place.

    The length must be a power of two. Integers stay exact if the sum of their absolute values fits.
    """
    half = 1
    while half < len(vector):
        for start in range(0, len(vector), 2 * half):
            for k in range(start, start + half):
                left, right = vector[k], vector[k + half]
                vector[k], vector[k + half] = left + right, left - right
        half *= 2


@njit(cache=True, nogil=True)
def scatter(places: np.ndarray, signs: np.ndarray, values: np.ndarray, out: np.ndarray) -> None:
    """Add every row's signed value at its place."""
    for row in range(len(places)):
        out[places[row]] += signs[row] * values[row]


@njit(cache=True, nogil=True)
def column_scores(
    indptr: np.ndarray,
    indices: np.ndarray,
    values: np.ndarray,
    weights: np.ndarray,
    columns: np.ndarray,
    out: np.ndarray,
) -> None:
    """Integer sums of entry times row weight over the rows, for each of the columns."""
    for k in range(len(columns)):
        total = np.int64(0)
        for place in range(indptr[columns[k]], indptr[columns[k] + 1]):
            total += np.int64(values[place]) * weights[indices[place]]
        out[k] = total
