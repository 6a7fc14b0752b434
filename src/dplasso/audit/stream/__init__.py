"""Streams: running sums of clipped gradients, with noise that is correlated over time."""
