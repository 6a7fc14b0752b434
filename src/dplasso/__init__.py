"""Differentially private sparse linear models by private Frank-Wolfe."""

__version__ = "0.1.0"
