"""How the command line names the library's parameters: by its options."""

import shlex
from collections.abc import Mapping

# Parameters whose option is not called as they are.
_OTHERWISE = {
    "Budget.open": "dplasso budget show",
    "identifier": "--id",
    "accountant": "--budget",
    "fit_intercept": "--intercept",
    "hashed": "--hash",
    "n_features": "--features",
    "n_jobs": "--threads",
    "n_rows": "--rows",
    "random_state": "--seed",
}
_ALIKE = (
    *("batch", "bounds", "buckets", "calibration", "classes", "construction", "delimiter", "delta"),
    *("domain", "epsilon", "feature_names", "format", "ignore", "labels", "longest_line", "loss"),
    *("max_iter", "n_nonzero", "neighboring", "noise", "output", "overwrite", "proba", "radius"),
    *("raw", "regression", "row_map", "selection", "solver", "target", "text", "window", "x_bound"),
    *("y_bound", "zero_based"),
)
OPTIONS = {**{name: f"--{name.replace('_', '-')}" for name in _ALIKE}, **_OTHERWISE}


def in_options(parameter: str, value: object) -> str:
    """Return a parameter as the option to type, with the value to give it if there is one.

    >>> in_options("n_rows", None), in_options("zero_based", True), in_options("delimiter", ";")
    ('--rows', '--zero-based', "--delimiter ';'")
    >>> in_options("fit_intercept", False)
    '--no-intercept'
    >>> in_options("bounds", {"age": ("low", "high"), "visits": ("low", "high")})
    '--bounds age=low:high --bounds visits=low:high'
    """
    option = OPTIONS.get(parameter, parameter)
    if value is None or value is True:
        return option
    if value is False:
        return f"--no-{option.removeprefix('--')}"
    if isinstance(value, Mapping):
        settings = [f"{column}={low}:{high}" for column, (low, high) in value.items()]
        return " ".join(f"{option} {setting}" for setting in settings)
    return f"{option} {shlex.quote(str(value))}"
