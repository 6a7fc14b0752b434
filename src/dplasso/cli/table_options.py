"""Options that say how a file is read, as parameters of `dplasso.read_rows`."""

from pathlib import Path
from typing import Any

from dplasso.base.wording import ParameterError, Setting
from dplasso.cli.options import longest_line_of, number_of
from dplasso.reading.formats import format_of
from dplasso.reading.reader import check_options


def reading_options(
    data: Path,
    *,
    target: str | None,
    bounds: list[str] | None,
    hashed: list[str] | None,
    text: list[str] | None,
    ignore: list[str] | None,
    buckets: int | None,
    delimiter: str | None,
    rows: int | None,
    classes: list[str] | None,
    features: int | None,
    zero_based: bool | None,
    names: Path | None,
    labels: Path | None = None,
    longest_line: str | None = None,
    x_bound: str | None = None,
) -> dict[str, Any]:
    """Parameters of `read_rows`; options that such data have no use for are rejected."""
    options = {
        "target": target,
        "bounds": _bounds(bounds),
        "hashed": _buckets("hashed", hashed),
        "text": _buckets("text", text),
        "ignore": None if ignore is None else tuple(_settings("ignore", ignore)),
        "buckets": buckets,
        "delimiter": delimiter,
        "n_rows": rows,
        "classes": classes,
        "n_features": features,
        "zero_based": zero_based,
        "feature_names": names,
        "labels": labels,
        "longest_line": longest_line_of(longest_line),
    }
    given = {name: value for name, value in options.items() if value is not None}
    check_options(data, given)
    if x_bound is not None and "bounds" in format_of(data).options:
        raise ParameterError(
            "{x_bound} has no effect on {data}, whose columns have {bounds} of their own; leave it "
            "out",
            data=data,
        )
    return given


def _bounds(given: list[str] | None) -> dict[str, tuple[float, float]] | None:
    if given is None:
        return None
    return {name: _range(name, value) for name, value in _settings("bounds", given).items()}


def _buckets(parameter: str, given: list[str] | None) -> dict[str, int | None] | None:
    if given is None:
        return None
    counts = _settings(parameter, given)
    return {name: None if count is None else _count(name, count) for name, count in counts.items()}


def _settings(parameter: str, values: list[str]) -> dict[str, str | None]:
    """Columns, and what is said of each: town=1000,ward is {"town": "1000", "ward": None}."""
    found: dict[str, str | None] = {}
    for part in (part.strip() for value in values for part in value.split(",")):
        name, equals, value = part.rpartition("=")
        name, setting = (name.strip(), value.strip()) if equals else (part, None)
        if not name:
            raise ParameterError(
                "{parameter} must name a column; see --help", parameter=Setting(parameter)
            )
        if name in found:
            raise ParameterError(
                "{parameter} names {name!r} twice; name it once",
                parameter=Setting(parameter),
                name=name,
            )
        found[name] = setting
    return found


def _count(name: str, text: str) -> int:
    if not text.isdecimal():
        raise ValueError(f"buckets of {name!r} must be a whole number, got {text!r}")
    return int(text)


def _range(name: str, text: str | None) -> tuple[float, float]:
    low, colon, high = (text or "").partition(":")
    if not colon:
        raise ValueError(f"--bounds of {name!r} must have the form {name}=low:high")
    return number_of("--bounds", low), number_of("--bounds", high)
