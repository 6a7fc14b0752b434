"""Fits that choose a few columns first: drawn columns, then released sums over the rows."""
