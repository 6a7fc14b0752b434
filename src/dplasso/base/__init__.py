"""Checks of numbers, array types, the machine, optional libraries: what every room may use."""
