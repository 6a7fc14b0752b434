"""Code that every room may use: checks of numbers, array types, the machine, optional libraries."""
