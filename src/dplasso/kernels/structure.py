"""Passes over the index arrays of sparse matrices: kernels trust what these have seen."""

from numba import njit


@njit(cache=True, nogil=True)
def largest(unsigned, first, last):  # type: ignore[no-untyped-def]
    """The largest number from ``first`` to ``last``, where there is any.

    Of indices seen as unsigned numbers, one below 0 is larger than any that fits.
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
