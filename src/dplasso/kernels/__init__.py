"""Compiled loops on raw arrays.

Nothing here knows of estimators, budgets or files; every function takes arrays and numbers, is
compiled by numba with an on-disk cache and releases the interpreter lock.
"""
