"""Tests of the built site, which ``make site-test`` names in SITE; without it they are not run."""

import os

if "SITE" not in os.environ:
    collect_ignore_glob = ["test_*.py"]
