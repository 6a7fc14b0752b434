"""Matrices of rows: checked, clipped to public bounds, and stored by columns."""

from dplasso.data.bounds import ColumnBounds
from dplasso.data.columns import ColumnMatrix

__all__ = ["ColumnBounds", "ColumnMatrix"]
