"""Other ways to learn from features that different parties hold, to compare with.

For benchmarks on public data only: noise is numpy's, and messages are counted, not sent.
"""
