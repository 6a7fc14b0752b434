"""Checks of the index arrays of sparse matrices, on which the kernels rely."""

from numba import njit


@njit(cache=True, nogil=True)
def largest(unsigned, first, last):  # type: ignore[no-untyped-def]
    """The largest number at places ``first`` to ``last``, of which there must be one.

    A negative index, viewed as unsigned, is larger than any valid one.
    """
    part = unsigned[first:last]
    top = part[0]
    for p in range(part.size):
        top = max(top, part[p])
    return top


@njit(cache=True, nogil=True)
def never_falls(indptr):  # type: ignore[no-untyped-def]
    """Whether pointers never decrease."""
    falls = False
    for k in range(indptr.size - 1):
        falls |= indptr[k + 1] < indptr[k]
    return not falls
