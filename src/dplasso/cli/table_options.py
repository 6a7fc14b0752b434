"""Options of reading a file, as parameters of `dplasso.read_rows`."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dplasso.base.wording import ParameterError, Setting
from dplasso.cli import options as o
from dplasso.reading.files import Files
from dplasso.reading.reader import check_options
from dplasso.schema import Schema


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """Options of commands that read training data."""

    data: o.Data
    classes: o.Classes = None
    rows: o.RowCount = None
    features: o.Features = None
    schema: o.SchemaFile = None
    target: o.Target = None
    bounds: o.Bounds = None
    hashed: o.Hashed = None
    text: o.Text = None
    ignore: o.Ignore = None
    missing: o.Missing = None
    person: o.Person = None
    delimiter: o.Delimiter = None
    encoding: o.Encoding = None
    buckets: o.Buckets = None
    zero_based: o.ZeroBased = None
    names: o.Names = None
    longest_line: o.LongestLine = None
    strict: o.Strict = False
    json: o.Json = False
    quiet: o.Quiet = False

    @cached_property
    def files(self) -> Files:
        """The files of the rows."""
        return Files.of(self.data)

    @property
    def watched(self) -> bool:
        """Whether tables and progress are shown."""
        return not (self.quiet or self.json)

    @property
    def declared_classes(self) -> list[str] | None:
        """Declared labels, as they are written."""
        return o.classes_of(self.classes)

    @cached_property
    def table_schema(self) -> Schema | None:
        """The schema of the file that was given."""
        return None if self.schema is None else Schema.from_toml(self.schema)

    def reading(self) -> dict[str, Any]:
        """Return parameters of `read_rows`; reject options that such data have no use for."""
        options = {
            "schema": self.table_schema,
            "target": self.target,
            "bounds": _bounds(self.bounds),
            "hashed": _buckets("hashed", self.hashed),
            "text": _buckets("text", self.text),
            "ignore": None if self.ignore is None else tuple(_settings("ignore", self.ignore)),
            "missing": None if self.missing is None else tuple(_settings("missing", self.missing)),
            "person": self.person,
            "buckets": self.buckets,
            "delimiter": self.delimiter,
            "encoding": self.encoding,
            "n_rows": self.rows,
            "classes": self.declared_classes,
            "n_features": self.features,
            "zero_based": self.zero_based,
            "feature_names": self.names,
            "longest_line": o.longest_line_of(self.longest_line),
            **self._more_reading(),
        }
        given = {name: value for name, value in options.items() if value is not None}
        check_options(self.files, given)
        return given

    def _more_reading(self) -> dict[str, Any]:
        """Return further parameters of `read_rows`."""
        return {}


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
    """Return columns with their values: town=1000,ward is {"town": "1000", "ward": None}."""
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
    return o.number_of("--bounds", low), o.number_of("--bounds", high)
