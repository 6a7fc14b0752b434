"""Synthetic data for examples: nobody's rows, so that everything about them may be shown."""

from dplasso.datasets.notes import make_notes
from dplasso.datasets.visits import make_visits

__all__ = ["make_notes", "make_visits"]
