"""How rows come in: checked, clipped to public bounds, column by column."""

from dplasso.data.bounds import ColumnBounds
from dplasso.data.columns import ColumnMatrix

__all__ = ["ColumnBounds", "ColumnMatrix"]
