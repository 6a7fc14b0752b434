"""Loops for a graphics card, in CUDA C++, and what runs them.

The ``.cu`` files hold the loops of the numba files of the same names, operation by operation:
for the same input both give the same bits. `source` puts them together, `device` says what they
are run on, `card` is such a device, `entries` a matrix on it, and `hard_cases` the check that a
device computes as the processor does.
"""
