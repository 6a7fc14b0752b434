"""Streams: they release running sums of clipped gradients, with noise correlated over time."""
