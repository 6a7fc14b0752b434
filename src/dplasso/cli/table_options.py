"""The options that say what the columns of a table are, and which kind of data takes which."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dplasso.cli.inputs import Form, kind_of
from dplasso.cli.options import number_of
from dplasso.reading.plans import TablePlan, buckets_for

_TABLE, _TEXT, _MATRIX, _STORE = "table", "svmlight text", ".npz matrix", "column store"
_TAKEN_BY = {
    "--target": (_TABLE,),
    "--bounds": (_TABLE,),
    "--hash": (_TABLE,),
    "--text": (_TABLE,),
    "--ignore": (_TABLE,),
    "--buckets": (_TABLE,),
    "--delimiter": (_TABLE,),
    "--features": (_TEXT,),
    "--zero-based or --one-based": (_TEXT,),
    "--labels": (_MATRIX,),
    "--feature-names": (_TEXT, _MATRIX),
    "--x-bound": (_TEXT, _MATRIX, _STORE),
}


def form_of(
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
    x_bound: str | None = None,
) -> Form:
    """How to read the data; options that such data have no use for are refused, not ignored."""
    given = {
        "--target": target,
        "--bounds": bounds,
        "--hash": hashed,
        "--text": text,
        "--ignore": ignore,
        "--buckets": buckets,
        "--delimiter": delimiter,
        "--features": features,
        "--zero-based or --one-based": zero_based,
        "--labels": labels,
        "--feature-names": names,
        "--x-bound": x_bound,
    }
    _check_kind(data, given)
    plan = None
    if target is not None:
        default = buckets_for(rows) if buckets is None else buckets
        roles = _roles(bounds, hashed, text, ignore, default)
        plan = TablePlan(target, buckets=default, classes=classes, delimiter=delimiter, **roles)
    return Form(features, bool(zero_based), labels, plan, names, rows)


def _check_kind(data: Path, given: Mapping[str, Any]) -> None:
    kind = kind_of(data)
    for option, value in given.items():
        if value is None or kind in _TAKEN_BY[option]:
            continue
        if kind == _STORE:
            raise ValueError(
                f"{option} has no effect on {data}, whose columns got their roles when it was "
                "converted; convert the source again"
            )
        raise ValueError(f"{option} is for a {_TAKEN_BY[option][0]}, and {data} is a {kind}")


def _roles(
    bounds: list[str] | None,
    hashed: list[str] | None,
    text: list[str] | None,
    ignore: list[str] | None,
    default: int,
) -> dict[str, Any]:
    """What the columns are that options name; ``default`` are the buckets where none are given."""
    numbers, words = _settings("--bounds", bounds), _settings("--text", text)
    hashes = _settings("--hash", hashed)
    for name in hashes.keys() & {name for name, count in words.items() if count is not None}:
        raise ValueError(f"--text and --hash both give buckets of {name!r}; give them once")
    sized = {name: hashes.get(name) or words.get(name) for name in [*hashes, *words]}
    return {
        "bounds": {name: _range(name, value) for name, value in numbers.items()},
        "hashed": {
            name: default if count is None else _count(name, count) for name, count in sized.items()
        },
        "text": tuple(words),
        "ignore": tuple(_settings("--ignore", ignore)),
    }


def _settings(option: str, values: list[str] | None) -> dict[str, str | None]:
    """Columns, and what is said of each: town=1000,ward is {"town": "1000", "ward": None}."""
    found: dict[str, str | None] = {}
    for part in (part.strip() for value in values or () for part in value.split(",")):
        name, equals, value = part.rpartition("=")
        name, setting = (name.strip(), value.strip()) if equals else (part, None)
        if not name:
            raise ValueError(f"{option} must name a column; see --help")
        if name in found:
            raise ValueError(f"{option} names {name!r} twice; name it once")
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
