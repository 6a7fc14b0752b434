"""How rows come in: checked, clipped to public bounds, column by column."""

from dplasso.data.columns import ColumnMatrix

__all__ = ["ColumnMatrix"]
