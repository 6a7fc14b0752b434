"""Private online learners to compare with, and running sums in plain floating point.

For benchmarks on public data only: the noise is numpy's, and sums are not exact.
"""
