"""Fits by Frank-Wolfe: they release vertices, drawn by the exponential mechanism."""
