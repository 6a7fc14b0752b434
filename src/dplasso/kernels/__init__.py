"""Compiled loops on raw arrays.

Nothing here knows about estimators, budgets or files. Every function takes arrays and numbers, is
compiled by numba with an on-disk cache and releases the interpreter lock.
"""
