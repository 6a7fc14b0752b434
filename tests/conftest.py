"""Set-up shared by all tests."""

import os

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # without it scikit-learn skips some of its checks

from hypothesis import HealthCheck, settings  # noqa: E402

from dplasso.warm import drop_stale  # noqa: E402  (scipy reads the variable when imported)

# A busy machine is no fault of a test.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")


def pytest_configure(config):
    # Workers of a parallel run must not drop what others have just compiled.
    if not hasattr(config, "workerinput"):
        drop_stale()


def pytest_make_parametrize_id(val, argname):
    """Number bytes instead of quoting them: an archive holds a date, and names must not."""
    return argname if isinstance(val, bytes) else None
