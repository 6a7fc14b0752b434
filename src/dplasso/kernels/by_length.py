"""Columns copied side by side, those of about equal length next to each other.

A processor guesses when a loop ends. Over columns of two entries, then nine, then three, it guesses
wrong at nearly every column, and that takes longer than adding up the entries. So the columns of
every block are sorted by length; a block is small enough for its numbers to stay in the cache.
"""

import numpy as np
from numba import njit

from dplasso.kernels.arithmetic import column, entry

BLOCK = 1 << 12  # columns in a block
LONG = 128  # from this length on the end of a loop no longer matters


@njit(cache=True, nogil=True)
def lengths(indptr, columns, first, last, out):  # type: ignore[no-untyped-def]
    """Number of entries of each block of these columns, from the block ``first`` to ``last``."""
    count = indptr.size - 1 if columns is None else columns.size
    for block in range(first, last):
        total = np.int64(0)
        for k in range(block * BLOCK, min((block + 1) * BLOCK, count)):
            j = column(columns, k)
            total += np.int64(indptr[j + 1]) - np.int64(indptr[j])
        out[block] = total


@njit(cache=True, nogil=True)
def count_filled(indptr, columns, first, last):  # type: ignore[no-untyped-def]
    """How many of the columns from ``first`` to ``last`` have entries."""
    count = 0
    for k in range(first, last):
        j = column(columns, k)
        count += indptr[j + 1] > indptr[j]
    return count


@njit(cache=True, nogil=True)
def list_filled(indptr, columns, first, last, out):  # type: ignore[no-untyped-def]
    """List the columns from ``first`` to ``last`` that have entries, in their order."""
    at = 0
    for k in range(first, last):
        j = column(columns, k)
        if indptr[j + 1] > indptr[j]:
            out[at] = j
            at += 1


@njit(cache=True, nogil=True)
def compare(indptr, columns, others, first, last):  # type: ignore[no-untyped-def]
    """Entries of the columns from ``first`` to ``last``, and whether these are among the others.

    Both are in order; the others are all if they are None.
    """
    entries, among, at = np.int64(0), True, np.int64(0)
    if others is not None and first < last:
        at = np.searchsorted(others, columns[first])
    for k in range(first, last):
        j = columns[k]
        entries += np.int64(indptr[j + 1]) - np.int64(indptr[j])
        if others is not None and among:
            while at < others.size and others[at] < j:
                at += 1
            among = at < others.size and others[at] == j
    return entries, among


@njit(cache=True, nogil=True)
def copy_blocks(  # type: ignore[no-untyped-def]
    indptr, indices, values, columns, before, first, last, order, starts, copied, copied_values
):
    """Copy the columns of the blocks ``first`` to ``last``, sorted by length in every block.

    ``order`` is the column at every place and ``starts`` is where its entries start; ``before`` is
    the number of entries before each block. Sorting keeps the order of equal lengths, and counts
    instead of comparing.
    """
    counts = np.empty(LONG + 2, np.int64)
    for block in range(first, last):
        begin, end = block * BLOCK, min((block + 1) * BLOCK, order.size)
        counts[:] = 0
        for k in range(begin, end):
            j = column(columns, k)
            counts[min(indptr[j + 1] - indptr[j], LONG) + 1] += 1
        for length in range(LONG + 1):
            counts[length + 1] += counts[length]
        for k in range(begin, end):
            j = column(columns, k)
            length = min(indptr[j + 1] - indptr[j], LONG)
            order[begin + counts[length]] = j
            counts[length] += 1
        at = before[block]
        for k in range(begin, end):
            j, starts[k] = order[k], at
            for p in range(indptr[j], indptr[j + 1]):
                copied[at] = indices[p]
                if copied_values is not None:
                    copied_values[at] = entry(values, p)
                at += 1
