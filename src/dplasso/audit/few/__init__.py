"""Fits that choose a few columns first: they draw columns, then release sums over the rows."""
