"""Set-up shared by all tests."""

from dplasso.warm import drop_stale


def pytest_configure(config):
    # Workers of a parallel run must not drop what others have just compiled.
    if not hasattr(config, "workerinput"):
        drop_stale()
