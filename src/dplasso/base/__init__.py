"""Checks of numbers, names of array types, and the machine: what every room may use."""
