"""Compiled loops of the selection rules in `dplasso.mechanisms.selection.rivals`."""
