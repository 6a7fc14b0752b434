"""How the command line names the library's parameters: by its options."""

import re
import shlex
from collections.abc import Mapping

# Parameters whose option is not called as they are.
_OTHERWISE = {
    "Budget.open": "dplasso budget show",
    "PrivateLassoRegressor": "--regression",
    "address": "--cluster",
    "backend": "--cluster",
    "identifier": "--id",
    "accountant": "--budget",
    "fit_intercept": "--intercept",
    "hashed": "--hash",
    "n_features": "--features",
    "n_jobs": "--threads",
    "n_people": "--people",
    "n_rows": "--rows",
    "overwrite": "--force",
    "random_state": "--seed",
}
_ALIKE = (
    *("actors", "checkpoint", "cluster", "trusted_network", "shards"),
    *("clip", "every", "half_life", "learner", "regularisation"),
    *("batch", "bounds", "buckets", "calibration", "classes", "construction", "delimiter", "delta"),
    "device",
    *("domain", "encoding", "epsilon", "feature_names", "format", "ignore", "inputs", "labels"),
    *("longest_line", "loss", "max_iter", "n_nonzero", "neighboring", "noise", "output", "proba"),
    "radius",
    *("raw", "regression", "row_map", "selection", "solver", "target", "text", "window", "x_bound"),
    *("y_bound", "zero_based", "by", "schema", "missing", "person", "rows_per_person"),
)
OPTIONS = {**{name: f"--{name.replace('_', '-')}" for name in _ALIKE}, **_OTHERWISE}


def number_advice(misuse: str) -> str:
    """How to write a number, if a text that was typed is none.

    >>> number_advice("'1,5' is not a valid float."), number_advice("No such option: --epsilom")
    (' Write numbers like 1.5 and 16000: a point, and no separators of thousands.', '')
    >>> number_advice("Input should be a valid number")[:7]
    '. Write'
    """
    if not re.search("valid (number|float|integer)", misuse):
        return ""
    stop = "" if misuse.rstrip().endswith(".") else "."
    return f"{stop} Write numbers like 1.5 and 16000: a point, and no separators of thousands."


def in_options(parameter: str, value: object) -> str:
    """Return a parameter as the option to type, with the value to give it if there is one.

    >>> in_options("n_rows", None), in_options("zero_based", True), in_options("delimiter", ";")
    ('--rows', '--zero-based', "--delimiter ';'")
    >>> in_options("fit_intercept", False)
    '--no-intercept'
    >>> in_options("bounds", {"age": ("low", "high"), "visits": ("low", "high")})
    '--bounds age=low:high --bounds visits=low:high'
    >>> in_options("ignore", ["id", "row key"])
    "--ignore 'id,row key'"
    """
    option = OPTIONS.get(parameter, parameter)
    if value is None or value is True:
        return option
    if value is False:
        return f"--no-{option.removeprefix('--')}"
    if isinstance(value, Mapping):
        settings = [f"{column}={low}:{high}" for column, (low, high) in value.items()]
        return " ".join(f"{option} {setting}" for setting in settings)
    if isinstance(value, list):
        value = ",".join(value)
    return f"{option} {shlex.quote(str(value))}"
