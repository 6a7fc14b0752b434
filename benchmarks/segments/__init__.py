"""Figures of running text, each written by a function from saved results."""
