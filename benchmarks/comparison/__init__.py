"""What ``accuracy.py`` is made of: cases, columns, the memory of fits, table and plot."""
