"""Fits by Frank-Wolfe: released vertices, drawn by the exponential mechanism."""
