"""What ``accuracy.py`` is made of: sets, splits, methods, the memory of fits, table and plot."""
